import type { NodeRecord } from '../../../../p2p/discovery/nodeRecord.ts'
import { OPSTACK_VERSION } from '../../../../p2p/discovery/opstackEntry.ts'
import type { CheckOutcome, Recorder } from './steps.ts'
import type { CheckTarget } from './target.ts'

/** Records the peer that the text names. */
export function checkAddress(record: Recorder, target: CheckTarget): void {
  if (target.peerId !== undefined) {
    record('address', 'ok', target.peerId, { data: { kind: target.kind, peerId: target.peerId } })
    return
  }
  record('address', 'warning', `${target.kind} without /p2p/<peer id>`, {
    hint: '--p2p.static and connectPeer require the peer id. A later step shows the found id',
  })
}

/** Checks the content of the node's record. Its signature has been verified. */
export function checkRecord(record: Recorder, node: NodeRecord, expectedChainId: bigint | undefined): void {
  const { ip, tcpPort, udpPort, alsoAt, opstack, sequence } = node
  const text = [
    'signature is valid',
    ip ?? 'no IP',
    tcpPort === undefined ? 'no TCP port' : `tcp ${tcpPort}`,
    udpPort === undefined ? 'no UDP port' : `udp ${udpPort}`,
    ...(alsoAt === undefined ? [] : [`also at ${alsoAt.ip}`]),
    opstack === undefined ? 'no opstack entry' : `chain ${opstack.chainId}`,
    `sequence ${sequence}`,
  ].join(', ')
  const data = {
    ip: ip ?? null,
    tcpPort: tcpPort ?? null,
    udpPort: udpPort ?? null,
    alsoAt: alsoAt ?? null,
    chainId: opstack?.chainId.toString() ?? null,
    version: opstack?.version.toString() ?? null,
    sequence: sequence.toString(),
  }
  const problem = problemOf(node, expectedChainId)
  if (problem === undefined) record('record', 'ok', text, { data })
  else record('record', problem.outcome, text, { data, hint: problem.hint })
}

function problemOf(
  { ip, tcpPort, opstack }: NodeRecord,
  expectedChainId: bigint | undefined,
): { outcome: CheckOutcome; hint: string } | undefined {
  if (opstack !== undefined && expectedChainId !== undefined && opstack.chainId !== expectedChainId) {
    return { outcome: 'failed', hint: `it follows chain ${opstack.chainId}, not ${expectedChainId}` }
  }
  if (opstack !== undefined && opstack.version !== OPSTACK_VERSION) {
    return { outcome: 'failed', hint: `version ${opstack.version} of the opstack entry; this version supports only 0` }
  }
  if (ip === undefined) {
    return {
      outcome: 'failed',
      hint: 'it does not know its own address yet: set --p2p.advertise.ip on that node, or wait until peers report the address',
    }
  }
  if (tcpPort === undefined) {
    return { outcome: 'warning', hint: 'it serves discovery only (a bootnode), or does not know its port yet' }
  }
  if (opstack === undefined) {
    return { outcome: 'warning', hint: 'without an opstack entry, discovery of the nodes of its chain ignores it' }
  }
  return undefined
}
