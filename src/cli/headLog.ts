import type { Clock } from '../lib/clock.ts'
import type { Hex } from '../lib/hex.ts'
import type { Logger } from '../lib/logger.ts'

/** Below this, heads share a line: blocks that are made come further apart, those of a sync by the hundred. */
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
  readonly added: readonly Pick<Head, 'gasUsed'>[]
}

export interface HeadLogModules {
  chain: { onHead(listener: (change: HeadMoved) => void): () => void }
  logger: Logger
  clock: Clock
}

/** What the head passed since the last line. */
interface Passed {
  head: Head
  blocks: number
  gasUsed: bigint
}

/** What an operator watches: a line a head, at most two a second, and one for each reorg. Returns what ends it. */
export function logHeads({ chain, logger, clock }: HeadLogModules): () => void {
  let passed: Passed | undefined
  let cancel: (() => void) | undefined
  const write = (): void => {
    cancel?.()
    cancel = undefined
    if (passed === undefined) return
    const { head, blocks, gasUsed } = passed
    passed = undefined
    cancel = clock.setTimeout(write, LINE_INTERVAL_MS)
    logger.info('Chain head moved', {
      number: head.number,
      hash: head.hash,
      gasUsed,
      timestamp: head.timestamp,
      blocks,
    })
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
    }
    if (cancel === undefined) write()
  })
  return () => {
    unsubscribe()
    write()
    cancel?.()
  }
}
