import { z } from 'zod'
import type { RpcClient } from '../../../jsonRpc/client.ts'
import { type Clock, sleep, systemClock } from '../../../lib/clock.ts'
import { Progress, type ProgressSink } from '../../../lib/progress.ts'

const LOOK_MS = 500

const statusSchema = z.object({ channelsToConfirm: z.number(), openChannel: z.looseObject({}).nullable() })

/**
 * Shows how many channels of a batch submitter are on L1, until `answer` settles. `answer` is the call that makes it post
 * them.
 */
export async function showDraining(
  rpc: Pick<RpcClient, 'request'>,
  answer: Promise<unknown>,
  sink: ProgressSink,
  clock: Clock = systemClock,
): Promise<void> {
  const ended = new AbortController()
  const end = (): void => ended.abort()
  answer.then(end, end)
  const progress = new Progress({ clock, sink }, { what: 'Posting to L1', unit: 'channels' })
  let done = 0
  let before = 0
  while (!ended.signal.aborted) {
    const left = await channelsLeft(rpc, ended.signal).catch(() => undefined)
    if (left !== undefined) {
      done += Math.max(0, before - left)
      before = left
      progress.advance(done, { total: done + left })
    }
    await sleep(clock, LOOK_MS, ended.signal).catch(() => undefined)
  }
  progress.end()
}

async function channelsLeft(rpc: Pick<RpcClient, 'request'>, signal: AbortSignal): Promise<number> {
  const status = statusSchema.parse(await rpc.request('admin_batcherStatus', [], { signal }))
  return status.channelsToConfirm + (status.openChannel === null ? 0 : 1)
}
