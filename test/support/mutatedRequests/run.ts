import { Agent } from 'node:http'
import { privateKeyToAccount } from 'viem/accounts'
import { createPatientClient } from '../../../src/jsonRpc/testUtils/patientClient.ts'
import { systemClock, unixSeconds } from '../../../src/lib/clock.ts'
import { createJwt, loadJwtSecret } from '../../../src/lib/jwt.ts'
import { Random } from '../random.ts'
import type { RunningTestnet } from '../testnet.ts'
import { makeBody } from './bodies.ts'
import {
  BATCH_SUBMITTER_CALLS,
  type ChainFacts,
  engineCalls,
  executionCalls,
  rollupNodeCalls,
  type SampleCall,
} from './calls.ts'
import { type HttpPort, sendBody, sendGarbage } from './overHttp.ts'
import { talk } from './overWebSocket.ts'

/** A port of the testnet's first node, or of its batch submitter. */
export interface Target extends HttpPort {
  name: string
  calls: readonly [SampleCall, ...SampleCall[]]
  overWebSocket?: boolean
}

export interface Finding {
  target: string
  fault: string
  /** The start of the sent data. */
  sent: string
  /** The seed reproduces the request. */
  seed: number
}

/** Messages of one WebSocket. */
const MESSAGES = 5
const WORKERS = 24
const SHOWN_LENGTH = 400

/** Sends `count` requests, bodies and frames. Each hundred depends on `seed`. Resolves to the faults. */
export async function sendMutated(targets: readonly Target[], count: number, seed: number): Promise<Finding[]> {
  const findings: Finding[] = []
  const agent = new Agent({ keepAlive: true, maxSockets: WORKERS * 4 })
  let sent = 0
  let nextSeed = seed
  const worker = async () => {
    while (sent < count) {
      const own = nextSeed++
      for (const target of targets) {
        const random = new Random(own * 7_919 + target.name.length)
        const made = await sendSome(random, target, agent, (fault, what) =>
          findings.push({
            target: target.name,
            fault,
            sent: what.toString('latin1').slice(0, SHOWN_LENGTH),
            seed: own,
          }),
        )
        sent += made
      }
    }
  }
  await Promise.all(Array.from({ length: WORKERS }, worker))
  agent.destroy()
  return findings
}

type Report = (fault: string, sent: Buffer) => void

async function sendSome(random: Random, target: Target, agent: Agent, report: Report): Promise<number> {
  const bodies = Array.from({ length: MESSAGES }, () => makeBody(random, target.calls))
  const [body] = bodies
  if (body === undefined) return 0
  if (target.overWebSocket) {
    const fault = await talk(random, target.url, bodies)
    if (fault !== undefined) report(fault, Buffer.concat(bodies))
    return MESSAGES
  }
  for (const one of bodies) {
    const fault = await (random.once(20) ? sendGarbage(random, target, one) : sendBody(random, target, one, agent))
    if (fault !== undefined) report(fault, one)
  }
  return MESSAGES
}

/** Every port of a testnet's sequencer and batch submitter. `gethSocket` is the WebSocket of an execution client. */
export async function targetsOf(testnet: RunningTestnet, gethSocket?: string): Promise<Target[]> {
  const [node] = testnet.nodes
  if (node === undefined) throw new RangeError('a testnet has a sequencer')
  const facts = await chainFacts(node, testnet)
  const discovered = await request<{ methods: { name: string; params: { name: string }[] }[] }>(
    node.rollupRpc,
    'rpc_discover',
  )
  const rollup = some(rollupNodeCalls(discovered.methods, facts))
  const secret = loadJwtSecret(node.jwt, { create: false })
  const bearer = () => createJwt(secret, unixSeconds(systemClock))
  const engine = some(engineCalls(facts))
  const execution = some(executionCalls(facts))
  return [
    { name: 'rollup node', url: node.rollupRpc, calls: rollup },
    { name: 'rollup node, WebSocket', url: node.rollupRpc, calls: rollup, overWebSocket: true },
    { name: 'batch submitter', url: testnet.batcher.adminRpc, calls: some(BATCH_SUBMITTER_CALLS) },
    { name: 'devium-geth', url: node.ethRpc, calls: execution },
    { name: 'Engine API', url: node.engineRpc, calls: engine, bearer },
    { name: 'Engine API without its token', url: node.engineRpc, calls: engine, isForbidden: true },
    ...(gethSocket === undefined
      ? []
      : [{ name: 'devium-geth, WebSocket', url: gethSocket, calls: execution, overWebSocket: true }]),
  ]
}

function some<T>(list: readonly T[]): readonly [T, ...T[]] {
  const [first, ...rest] = list
  if (first === undefined) throw new RangeError('an empty list')
  return [first, ...rest]
}

/** Facts of a node's latest block, or of another block. */
export async function chainFacts(
  node: Pick<RunningTestnet['nodes'][number], 'ethRpc' | 'peerId'>,
  { l2 }: RunningTestnet,
  tag: 'latest' | 'safe' = 'latest',
): Promise<ChainFacts> {
  const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  const block = await request<ChainFacts['block']>(node.ethRpc, 'eth_getBlockByNumber', [tag, false])
  const hashes = Array.isArray(block.transactions) ? block.transactions : []
  const signedTransaction = await account.signTransaction({
    chainId: l2.chainId,
    to: account.address,
    gas: 21_000n,
    maxFeePerGas: 10n ** 10n,
    nonce: 0,
  })
  return {
    block,
    rawTransactions: await Promise.all(
      hashes.map((hash) => request<string>(node.ethRpc, 'eth_getRawTransactionByHash', [hash])),
    ),
    peerId: node.peerId,
    signedTransaction,
    account: account.address,
  }
}

async function request<T>(url: string, method: string, params: unknown[] = []): Promise<T> {
  const client = createPatientClient({ url })
  try {
    return (await client.request(method, params)) as T
  } finally {
    await client.close()
  }
}

/** Log lines of the programs that report an internal fault. */
export function ownFaults(testnet: RunningTestnet): string[] {
  return testnet.complaints().filter((line) => /unexpected|RPC call failed|Unhandled|\bat .*:\d+:\d+/.test(line))
}
