import { ChainError } from '../../errors.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import type { SimulationBlock } from './types.ts'

/** Why blocks cannot be simulated: `details.problem` of the ChainError `execution-failed`. */
export type SimulationProblem = 'block-number' | 'block-timestamp' | 'too-many-blocks' | 'block-gas-limit'

/** geth: maxSimulateBlocks, between the base and the last block. */
export const MAX_SIMULATED_BLOCKS = 256
/** geth: timestampIncrement, in seconds, whatever the chain's block time. */
const TIMESTAMP_STEP = 12

export interface PlannedBlock extends SimulationBlock {
  number: number
  timestamp: number
}

/**
 * Assigns numbers and timestamps, and fills gaps between numbers with empty blocks. Throws ChainError
 * `execution-failed` if they do not increase, or if there are too many blocks.
 */
export function planBlocks(blocks: readonly SimulationBlock[], base: BlockHeader): PlannedBlock[] {
  const planned: PlannedBlock[] = []
  let { number, timestamp } = base
  const add = (block: SimulationBlock, time: number): void => {
    number += 1
    timestamp = time
    planned.push({ ...block, number, timestamp })
  }
  for (const block of blocks) {
    const wanted = block.block.number ?? number + 1
    if (wanted <= number)
      throw simulationFailed('block-number', `block numbers must be in order: ${wanted} <= ${number}`)
    if (wanted - base.number > MAX_SIMULATED_BLOCKS) throw simulationFailed('too-many-blocks', 'too many blocks')
    while (number + 1 < wanted) add({ block: {}, overrides: {}, calls: [] }, timestamp + TIMESTAMP_STEP)
    const time = block.block.timestamp ?? timestamp + TIMESTAMP_STEP
    if (time <= timestamp) {
      throw simulationFailed('block-timestamp', `block timestamps must be in order: ${time} <= ${timestamp}`)
    }
    add(block, time)
  }
  return planned
}

export function simulationFailed(problem: SimulationProblem, message: string): ChainError {
  return new ChainError('execution-failed', message, { details: { problem } })
}
