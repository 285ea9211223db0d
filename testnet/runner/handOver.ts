import { setTimeout as delay } from 'node:timers/promises'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { DeviumError } from '../../src/lib/errors.ts'
import { JsonObjectReader } from '../../src/rollup/protocol/index.ts'

const POLL_MS = 100
/** Blocks arrive by gossip within a second. A node that is starting gets missed blocks by request or from L1. */
const FOLLOW_TIMEOUT_MS = 60_000
/** `admin_stopSequencer` waits for the last sealed block. */
const STOP_TIMEOUT_MS = 60_000

/**
 * Moves the sequencer from rollup node `from` to `to` on the same block, so that the chain has no gap and no branch. `prepare`
 * restarts `to` as a stopped sequencer, and `giveUp` makes it a verifier again.
 */
export async function handOver(
  { from, to, signal }: { from: RpcClient; to: RpcClient; signal: AbortSignal },
  steps: { prepare(): Promise<void>; giveUp(): Promise<void> },
): Promise<void> {
  await steps.prepare()
  let stoppedAt: unknown
  try {
    const { number } = await unsafeHead(from)
    await until(async () => (await unsafeHead(to)).number >= number, signal)
    stoppedAt = await from.request('admin_stopSequencer', [], { timeoutMs: STOP_TIMEOUT_MS })
    await until(async () => (await unsafeHead(to)).hash === stoppedAt, signal)
    await to.request('admin_startSequencer', [stoppedAt])
  } catch (error) {
    if (stoppedAt !== undefined) await from.request('admin_startSequencer', [stoppedAt])
    await steps.giveUp()
    throw error
  }
}

async function unsafeHead(node: RpcClient): Promise<{ number: number; hash: string }> {
  const head = new JsonObjectReader(await node.request('optimism_syncStatus', []), 'sync status').object('unsafe_l2')
  return { number: head.integer('number'), hash: head.hex('hash', 32) }
}

async function until(isSo: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + FOLLOW_TIMEOUT_MS
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new DeviumError('hand-over', 'the other node does not follow the sequencer')
    await delay(POLL_MS, undefined, { signal })
  }
}
