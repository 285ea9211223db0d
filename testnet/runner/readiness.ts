import { setTimeout as delay } from 'node:timers/promises'
import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { quantityToNumber, toQuantity } from '../../src/lib/hex.ts'
import { JsonObjectReader } from '../../src/rollup/protocol/index.ts'
import { sharedSafeHeight, type TestnetStatus } from './status.ts'

const STARTUP_POLL_MS = 50
/** The limit for a program that hangs, on a busy machine. A program that exits is reported at once. */
const START_TIMEOUT_MS = 180_000

/** Polls until the program answers. The process group reports a program that exits, and aborts the signal. */
export async function waitForAnswer(client: RpcClient, method: string, signal: AbortSignal): Promise<unknown> {
  const deadline = performance.now() + START_TIMEOUT_MS
  for (;;) {
    try {
      return await client.request(method, [], { signal })
    } catch (cause) {
      signal.throwIfAborted()
      if (performance.now() > deadline) {
        throw new DeviumError('start-timeout', `${client.url} does not answer ${method}`, { cause })
      }
    }
    await delay(STARTUP_POLL_MS, undefined, { signal })
  }
}

/** Resolves when L1 answers. Throws DeviumError if another program answers. */
export async function waitForL1(l1: RpcClient, chainId: number, signal: AbortSignal): Promise<void> {
  const answer = await waitForAnswer(l1, 'eth_chainId', signal)
  if (answer === toQuantity(chainId)) return
  throw new DeviumError('l1-start', `L1 at ${l1.url} has chain id ${String(answer)}, expected ${chainId}`)
}

const READY_POLL_MS = 150

/** A testnet whose rollup nodes can be called by name. */
export interface CalledTestnet {
  status(): Promise<TestnetStatus>
  request(node: string, method: string, params: readonly unknown[]): Promise<unknown>
}

/** Resolves to the height of the first safe block that all nodes share. */
export async function untilReady(
  testnet: CalledTestnet,
  reached: (milestone: string) => void,
  signal: AbortSignal,
): Promise<number> {
  const seen = new Set<string>()
  const once = (what: string) => {
    if (seen.has(what)) return
    seen.add(what)
    reached(what)
  }
  for (;;) {
    const now = await testnet.status()
    signal.throwIfAborted()
    if (now.nodes.every(({ unsafe }) => unsafe !== undefined)) once('all nodes answer')
    if (now.nodes.some(({ unsafe }) => (unsafe?.number ?? 0) > 0)) once('first block')
    if (now.lastSubmission !== undefined) once('first batch on l1')
    const height = sharedSafeHeight(now)
    const names = now.nodes.map(({ name }) => name)
    if (height !== undefined && (await haveSameBlock(testnet, names, height))) {
      reached('safe on all nodes')
      return height
    }
    await delay(READY_POLL_MS, undefined, { signal })
  }
}

/**
 * Whether all nodes have the same block at this height; false if a node does not answer. It queries the rollup nodes. A first
 * connection to an execution client would start an RPC process, which most nodes of a testnet never need.
 */
export async function haveSameBlock(
  testnet: Pick<CalledTestnet, 'request'>,
  names: readonly string[],
  height: number,
): Promise<boolean> {
  const rootAt = async (name: string) => {
    const output = await testnet.request(name, 'optimism_outputAtBlock', [toQuantity(height)])
    return new JsonObjectReader(output, 'output').hex('outputRoot', 32)
  }
  const roots = await Promise.all(names.map((name) => rootAt(name).catch(() => undefined)))
  return roots[0] !== undefined && roots.every((root) => root === roots[0])
}

/**
 * The head of a kept chain, from its execution client. On a busy machine the rollup node may first answer after a fork has
 * activated.
 */
export async function keptHead(ethRpc: string, signal: AbortSignal): Promise<number> {
  const client = createRpcClient({ url: ethRpc })
  try {
    return quantityToNumber(await waitForAnswer(client, 'eth_blockNumber', signal), 'L2 block number')
  } finally {
    await client.close()
  }
}
