import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff, retry } from '../../lib/retry.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import type { BlockId, L1BlockRef, L2BlockRef } from '../protocol/types.ts'
import { ReadAhead } from './readAhead.ts'
import type { Engine } from './types.ts'

/** L1 reads; `undefined` means that L1 does not have the block (anymore, or yet). */
export interface L1Lookup {
  blockInfoByHash(hash: Hex): Promise<L1BlockRef | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
}

/** Number of prefetched blocks: enough to hide the latency of a call, but a small load for the endpoint. */
const L1_WINDOW = 16
const L2_WINDOW = 32

/**
 * Reads blocks on the walk back from the unsafe head. While L1 or the engine is unreachable, reads wait until the
 * signal aborts.
 */
export function createStartWalk(
  modules: {
    engine: Pick<Engine, 'blockRefByHash' | 'blockRefByNumber'>
    l1: L1Lookup
    clock: Clock
    logger: Logger
  },
  /** Blocks below the finalized block are not prefetched. */
  { finalized }: { finalized: L2BlockRef },
  signal: AbortSignal | undefined,
) {
  const { engine, l1, clock, logger } = modules
  const l1Ahead = new ReadAhead((number) => l1.blockInfoByNumber(number), { window: L1_WINDOW, step: -1 })
  const l2Ahead = new ReadAhead((number) => engine.blockRefByNumber(number), { window: L2_WINDOW, step: -1 })

  /** The walk may have thousands of blocks, so an error on the way must not restart it. */
  const persistently = <T>(what: string, read: () => Promise<T>): Promise<T> =>
    retry(() => untilAborted(read(), signal), {
      clock,
      backoff: exponentialBackoff(1000, 10_000, 250),
      ...(signal === undefined ? {} : { signal }),
      onRetry: (error, attempt) => {
        if (attempt === 1) logger.warn(`Cannot read ${what} while looking for the start heads`, { err: error })
      },
    })

  return {
    canonicalL1Block: (number: number) =>
      persistently('L1', async () => {
        const block = await l1Ahead.take(number, finalized.l1Origin.number)
        return block ?? l1.blockInfoByNumber(number)
      }),

    /** Reads a block that was canonical; undefined if a reorg removed it. */
    l1BlockByHash: ({ number, hash }: BlockId) =>
      persistently('L1', async () => {
        const block = await l1Ahead.take(number, finalized.l1Origin.number)
        return block?.hash === hash ? block : l1.blockInfoByHash(hash)
      }),

    l2Parent: ({ number, parentHash }: L2BlockRef) =>
      persistently("the engine's blocks", async () => {
        const block = await l2Ahead.take(number - 1, finalized.number)
        return block?.hash === parentHash ? block : engine.blockRefByHash(parentHash)
      }),
  }
}
