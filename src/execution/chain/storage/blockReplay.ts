import type { Clock } from '../../../lib/clock.ts'
import type { Logger } from '../../../lib/logger.ts'
import { Progress, progressInLog } from '../../../lib/progress.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import type { ExecutionResult } from '../../block/blockExecution.ts'
import { ChainError } from '../../errors.ts'
import type { Block, BlockHeader } from '../../primitives/block.ts'
import type { StateChanges } from '../../state/stateKeys.ts'
import type { BlockReader } from '../blockReader.ts'

export interface BlockReplayModules {
  blocks: BlockReader
  /** Whether blocks can be executed on the state after this block. */
  hasState: (header: BlockHeader) => boolean
  /** Executes a stored block on its parent's state. Throws ChainError if the result differs from the block. */
  execute: (block: Block, parent: BlockHeader) => Promise<ExecutionResult>
  keep: (header: BlockHeader, changes: StateChanges) => Promise<void>
  logger: Logger
  clock: Pick<Clock, 'now'>
}

/** Most blocks that are executed again while a caller waits. */
const MAX_BLOCKS_WHILE_RUNNING = 1024

/** Executes stored blocks again whose states a crash lost. Blocks are always written, states seldom. */
export class BlockReplay {
  private readonly modules: BlockReplayModules

  constructor(modules: BlockReplayModules) {
    this.modules = modules
  }

  /** Whether the state of the block is available, if need be after executing blocks again. Calls must not overlap. */
  async ensure(header: BlockHeader): Promise<boolean> {
    const missing = this.missingFrom(header, MAX_BLOCKS_WHILE_RUNNING)
    return missing !== undefined && (await this.executeAgain(missing)) === undefined
  }

  /** At the start: restores and returns the last complete block up to `head`. */
  async findHead(head: BlockHeader): Promise<BlockHeader | undefined> {
    const { blocks, logger } = this.modules
    for (let candidate: BlockHeader | undefined = head; candidate !== undefined; ) {
      const missing = this.missingFrom(candidate, Number.POSITIVE_INFINITY)
      if (missing?.length === 0) return candidate
      if (missing === undefined) {
        candidate = this.below(candidate)
        continue
      }
      logger.info('Executing blocks again because their states were not written', {
        from: missing.at(-1)?.number,
        to: candidate.number,
      })
      const broken = await this.executeAgain(missing)
      if (broken === undefined) return candidate
      candidate = blocks.header(broken.parentHash)
    }
    return undefined
  }

  /** The blocks without state, from this block down. Undefined if an ancestor is missing. */
  private missingFrom(header: BlockHeader, limit: number): BlockHeader[] | undefined {
    const { blocks, hasState } = this.modules
    const missing: BlockHeader[] = []
    for (let block = header; !hasState(block); ) {
      const parent = blocks.header(block.parentHash)
      if (parent === undefined || missing.length === limit) return undefined
      missing.push(block)
      block = parent
    }
    return missing
  }

  /** `missing` is in descending order. Resolves with the first block that could not be executed. */
  private async executeAgain(missing: readonly BlockHeader[]): Promise<BlockHeader | undefined> {
    const { blocks, execute, keep, logger, clock } = this.modules
    const parts = { clock, sink: progressInLog(logger) }
    const progress = new Progress(parts, { what: 'Executing blocks again', unit: 'blocks' })
    for (const [index, header] of missing.toReversed().entries()) {
      const block = blocks.block(header.hash)
      const parent = blocks.header(header.parentHash)
      if (block === undefined || parent === undefined) return header
      await yieldToLoop()
      try {
        await keep(header, (await execute(block, parent)).changes)
      } catch (error) {
        if (!(error instanceof ChainError)) throw error
        const { number, hash } = header
        logger.error('Failed to execute a stored block again', { number, hash, err: error })
        return header
      }
      progress.advance(index + 1, { total: missing.length, fields: () => ({ number: header.number }) })
    }
    return undefined
  }

  /** The next canonical block below a gap in the ancestors of `header`. */
  private below(header: BlockHeader): BlockHeader | undefined {
    const { blocks } = this.modules
    // The missing ancestor separates complete blocks from incomplete ones.
    let lowest = header
    for (let parent = blocks.header(lowest.parentHash); parent !== undefined; ) {
      lowest = parent
      parent = blocks.header(lowest.parentHash)
    }
    for (let number = lowest.number - 1; number >= 0; number--) {
      const found = blocks.canonicalHeader(number)
      if (found !== undefined && blocks.block(found.hash) !== undefined) return found
    }
    return undefined
  }
}
