import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff, retry } from '../../lib/retry.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import type { BlockId, L1BlockRef, L2BlockRef } from '../protocol/types.ts'
import { BackwardReader } from './backwardReader.ts'
import type { Engine } from './types.ts'

/** L1 reads; `undefined` means that L1 does not have the block (any more, or yet). */
export interface L1Lookup {
  blockInfoByHash(hash: Hex): Promise<L1BlockRef | undefined>
  blockInfoByNumber(number: number): Promise<L1BlockRef | undefined>
}

/** Blocks that are read ahead of the walk: enough to hide the time of a call, few enough to go unnoticed. */
const L1_WINDOW = 16
const L2_WINDOW = 32

/** Reads of the walk back from the unsafe head. They wait for an L1 or engine that is away, until the signal aborts. */
export interface StartWalk {
  canonicalL1Block(number: number): Promise<L1BlockRef | undefined>
  /** A block that was known to be canonical: undefined when it is no longer. */
  l1BlockByHash(id: BlockId): Promise<L1BlockRef | undefined>
  l2Parent(block: L2BlockRef): Promise<L2BlockRef | undefined>
}

export function createStartWalk(
  modules: {
    engine: Pick<Engine, 'blockRefByHash' | 'blockRefByNumber'>
    l1: L1Lookup
    clock: Clock
    logger: Logger
  },
  /** Blocks below the finalized one are not read. */
  { finalized }: { finalized: L2BlockRef },
  signal: AbortSignal | undefined,
): StartWalk {
  const { engine, l1, clock, logger } = modules
  const l1Ahead = new BackwardReader((number) => l1.blockInfoByNumber(number), {
    window: L1_WINDOW,
    floor: finalized.l1Origin.number,
  })
  const l2Ahead = new BackwardReader((number) => engine.blockRefByNumber(number), {
    window: L2_WINDOW,
    floor: finalized.number,
  })

  /** The walk may be thousands of blocks long: an error on the way must not begin it again. */
  const persistently = <T>(what: string, read: () => Promise<T>): Promise<T> =>
    retry(() => untilAborted(read(), signal), {
      clock,
      backoff: exponentialBackoff(1000, 10_000, 250),
      ...(signal === undefined ? {} : { signal }),
      onRetry: (error, attempt) => {
        if (attempt === 1) logger.warn(`Cannot read ${what} to find the heads to start from`, { err: error })
      },
    })

  return {
    async canonicalL1Block(number) {
      const block = await untilAborted(l1Ahead.take(number), signal)
      return block ?? persistently('L1', () => l1.blockInfoByNumber(number))
    },

    async l1BlockByHash({ number, hash }) {
      const block = await untilAborted(l1Ahead.take(number), signal)
      return block?.hash === hash ? block : persistently('L1', () => l1.blockInfoByHash(hash))
    },

    async l2Parent({ number, parentHash }) {
      const block = await untilAborted(l2Ahead.take(number - 1), signal)
      return block?.hash === parentHash
        ? block
        : persistently("the engine's blocks", () => engine.blockRefByHash(parentHash))
    },
  }
}
