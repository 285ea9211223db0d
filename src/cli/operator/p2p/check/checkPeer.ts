import { randomBytes } from 'node:crypto'
import type { Clock } from '../../../../lib/clock.ts'
import { describeError } from '../../../../lib/errors.ts'
import { identityFromRawKey } from '../../../../p2p/host/identity.ts'
import { checkConnection, type FoundPeer } from './checkConnection.ts'
import { finishDiscoveryCheck, startDiscoveryCheck } from './checkDiscovery.ts'
import { checkAddress, checkRecord } from './checkRecord.ts'
import { isApart, judgeOwnView, type OwnNodeView } from './ownNode.ts'
import { type NameResolver, type ResolvedAddress, resolveAddresses } from './resolve.ts'
import { type CheckReport, type CheckStep, createRecorder, formatMs, type Recorder } from './steps.ts'
import { type CheckTarget, parseTarget } from './target.ts'
import { verdictOf } from './verdict.ts'

export interface CheckModules {
  clock: Clock
  resolver: NameResolver
  /** Queries the operator's own node; rejects when it does not answer. Undefined: skip this. */
  ownNode?: (() => Promise<OwnNodeView>) | undefined
  /** Called after each step. */
  onStep?: (step: CheckStep) => void
}

export interface CheckOptions {
  /** A multiaddress, ENR or enode. */
  target: string
  /** Undefined: the chain id of the own node. */
  chainId?: bigint | undefined
  /** Number of the requested block. Undefined: a block that the own node has. */
  blockNumber?: number | undefined
  /** Time limit of each step. */
  timeoutMs: number
  /** How long a connection must stay open to pass. */
  standMs?: number | undefined
  /** 32 bytes; undefined: a new key. */
  privateKey?: Uint8Array | undefined
  signal?: AbortSignal | undefined
}

/** A peer that refuses this connection closes it sooner. */
const STAND_MS = 1_500

/** Dials step by step and reports where and why the dial fails. Rejects only with the signal's reason. */
export async function checkPeer(modules: CheckModules, options: CheckOptions): Promise<CheckReport> {
  const { clock } = modules
  const { steps, record } = createRecorder(modules.onStep)
  let peerId: string | undefined
  let chainId = options.chainId
  let found: FoundPeer = { chainIds: [] }
  const report = (): CheckReport => {
    const failed = steps.find(({ outcome }) => outcome === 'failed')
    return {
      target: options.target,
      peerId: peerId ?? null,
      expectedChainId: chainId?.toString() ?? null,
      ok: failed === undefined,
      failedAt: failed?.step ?? null,
      verdict: verdictOf(steps, { agent: found.agent, chainIds: found.chainIds }),
      steps,
    }
  }

  const target = await readTarget(options.target)
  if ('hint' in target) {
    record(target.step, 'failed', target.text, { hint: target.hint })
    return report()
  }
  peerId = target.peerId
  checkAddress(record, target)
  // Queried first, because its chain id is the expected chain id. Its view of the peer is recorded once the IPs are known.
  const own = await queryOwnNode(modules)
  const identity = identityFromRawKey(options.privateKey ?? new Uint8Array(randomBytes(32)))
  options.signal?.throwIfAborted()
  chainId ??= own.view?.chainId
  if (target.record !== undefined) checkRecord(record, target.record, chainId)
  const addresses = await resolve(modules, options, target, record)
  recordOwnNode(record, own, { target, addresses, checkerId: identity.peerId.toString() })

  const isRefused = steps.some(({ step, outcome }) => step === 'own node' && outcome === 'failed')
  const ip = addresses[0]?.ip
  const endpoints = addresses.flatMap(({ ip, tcpPort }) => (tcpPort === undefined ? [] : [{ ip, tcpPort }]))
  const { publicKey, udpPort } = target.discovery ?? {}
  const discovery =
    publicKey === undefined || udpPort === undefined || ip === undefined
      ? undefined
      : startDiscoveryCheck(clock, { publicKey, udpPort, ip }, options.timeoutMs)
  if (endpoints.length > 0) {
    found = await checkConnection(
      { clock, record, identity },
      {
        endpoints,
        peerId,
        chainId,
        blockNumber: options.blockNumber ?? own.view?.blockNumber,
        isOwnKey: options.privateKey !== undefined,
        isOwnNodeApart: !isRefused && own.view !== undefined && isApart(own.view, peerId),
        timeoutMs: options.timeoutMs,
        standMs: options.standMs ?? STAND_MS,
        signal: options.signal,
      },
    )
    peerId = found.peerId ?? peerId
  } else if (addresses.length > 0) record('tcp', 'skipped', 'no TCP port to dial: it serves discovery only')
  const isOnlyWay = endpoints.length === 0
  if (discovery !== undefined) await finishDiscoveryCheck(record, discovery, { chainId, isOnlyWay })
  else if (target.record !== undefined && udpPort === undefined) record('udp', 'skipped', 'the record has no UDP port')
  return report()
}

/** Loads discv5 on demand: it takes 300 ms, and a multiaddress does not need it. */
async function readTarget(text: string): Promise<ReturnType<typeof parseTarget>> {
  const { parseRecord } = /^\s*enr:/.test(text)
    ? await import('../../../../p2p/discovery/discv5.ts')
    : { parseRecord: undefined }
  return parseTarget(text, (record) => {
    if (parseRecord === undefined) throw new Error(`not a record: ${record}`)
    return parseRecord(record)
  })
}

interface OwnNode {
  view: OwnNodeView | undefined
  error: unknown
  tookMs: number
}

async function queryOwnNode({ clock, ownNode }: CheckModules): Promise<OwnNode> {
  const startMs = clock.now()
  try {
    return { view: await ownNode?.(), error: undefined, tookMs: clock.now() - startMs }
  } catch (error) {
    return { view: undefined, error, tookMs: clock.now() - startMs }
  }
}

function recordOwnNode(
  record: Recorder,
  own: OwnNode,
  check: { target: CheckTarget; addresses: readonly ResolvedAddress[]; checkerId: string },
): void {
  const { view, error, tookMs } = own
  if (view !== undefined) {
    const { outcome, text, ...details } = judgeOwnView(view, {
      peerId: check.target.peerId,
      ips: [...new Set(check.addresses.map(({ ip }) => ip))],
    })
    record('own node', outcome, text, { ...details, tookMs })
    if (view.peerId === check.checkerId) {
      record('own node', 'warning', 'this check dials with the key of that running node', {
        hint: 'the peer sees both as one peer, and may close the connections of the running node',
      })
    }
  } else if (error !== undefined) {
    record('own node', 'skipped', describeError(error), {
      hint: 'it is unknown whether the node has blocked or banned the peer',
    })
  }
}

/** An empty list means that a step failed and is recorded. */
async function resolve(
  { clock, resolver }: CheckModules,
  options: CheckOptions,
  target: CheckTarget,
  record: Recorder,
): Promise<ResolvedAddress[]> {
  const { host } = target
  if (host === undefined || host.kind === 'ip') return resolveAddresses(resolver, target)
  const startMs = clock.now()
  let problem: { text: string; hint: string }
  try {
    const addresses = await inTime(resolveAddresses(resolver, target), options)
    const ips = [...new Set(addresses.map(({ ip }) => ip))]
    if (ips.length > 0) {
      record('name', 'ok', `${host.name} is ${ips.join(', ')}`, { tookMs: clock.now() - startMs, data: { ips } })
      return addresses
    }
    problem = {
      text: `no TXT record of _dnsaddr.${host.name} matches`,
      hint: 'expected dnsaddr=/ip4/<ip>/tcp/<port>/p2p/<peer id> with the given peer id',
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    problem = {
      text: `${host.name} does not resolve: ${describeError(error)}`,
      hint: 'check the spelling, and the name servers of this machine',
    }
  }
  record('name', 'failed', problem.text, { hint: problem.hint, tookMs: clock.now() - startMs })
  return []
}

function inTime<T>(work: Promise<T>, { timeoutMs, signal }: CheckOptions): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${formatMs(timeoutMs)}`)), timeoutMs)
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}
