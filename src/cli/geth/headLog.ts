import type { Clock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { RoutineLines } from '../../lib/routineLines.ts'
import { hasMoreThanL1Info } from '../../rollup/protocol/index.ts'

/** Heads within this time share a line. Newly built blocks are further apart; a sync inserts many in this time. */
const LINE_INTERVAL_MS = 500

interface Head {
  readonly number: number
  readonly hash: Hex
  readonly gasUsed: bigint
  readonly timestamp: number
}

export interface HeadMoved {
  readonly head: Head
  readonly removed: readonly unknown[]
  readonly added: readonly Pick<Head, 'hash' | 'gasUsed'>[]
}

export interface HeadLogModules {
  chain: {
    onHead(listener: (change: HeadMoved) => void): () => void
    /** Returns a block that was built or executed recently. */
    cachedBlock(hash: Hex): { readonly transactions: readonly unknown[] } | undefined
  }
  logger: Logger
  clock: Clock
}

/** Heads since the last line. */
interface Passed {
  head: Head
  blocks: number
  gasUsed: bigint
  isNews: boolean
}

/**
 * Logs each head, at most two lines a second, and each reorg. Blocks without user transactions are routine. Returns a
 * function that stops the log.
 */
export function logHeads({ chain, logger, clock }: HeadLogModules): () => void {
  const lines = new RoutineLines({ clock, logger }, 'Chain head advanced')
  const hasUsers = (hash: Hex): boolean => {
    const block = chain.cachedBlock(hash)
    return block === undefined || hasMoreThanL1Info(block.transactions.length)
  }
  let passed: Passed | undefined
  let cancel: (() => void) | undefined
  const write = (): void => {
    cancel?.()
    cancel = undefined
    if (passed === undefined) return
    const { head, blocks, gasUsed, isNews } = passed
    passed = undefined
    cancel = clock.setTimeout(write, LINE_INTERVAL_MS)
    const { number, hash, timestamp } = head
    lines.write({ number, hash, gasUsed, timestamp, blocks }, { isNews })
  }
  const unsubscribe = chain.onHead(({ head, removed, added }) => {
    if (removed.length > 0) {
      write()
      const { number, hash, gasUsed, timestamp } = head
      const lengths = { dropped: removed.length, added: added.length }
      logger.info('Chain reorganised', { number, hash, gasUsed, timestamp, ...lengths })
      return
    }
    passed = {
      head,
      blocks: (passed?.blocks ?? 0) + added.length,
      gasUsed: added.reduce((sum, block) => sum + block.gasUsed, passed?.gasUsed ?? 0n),
      isNews: passed?.isNews === true || added.some((block) => hasUsers(block.hash)),
    }
    if (cancel === undefined) write()
  })
  return () => {
    unsubscribe()
    write()
    cancel?.()
  }
}
