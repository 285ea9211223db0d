import type { BlockHeader } from '../../primitives/block.ts'
import { callFailed } from './callGas.ts'
import type { SimulationBlock } from './types.ts'

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
    if (wanted <= number) throw callFailed('block-number', `block numbers must be in order: ${wanted} <= ${number}`)
    if (wanted - base.number > MAX_SIMULATED_BLOCKS) throw callFailed('too-many-blocks', 'too many blocks')
    while (number + 1 < wanted) add({ block: {}, overrides: {}, calls: [] }, timestamp + TIMESTAMP_STEP)
    const time = block.block.timestamp ?? timestamp + TIMESTAMP_STEP
    if (time <= timestamp) {
      throw callFailed('block-timestamp', `block timestamps must be in order: ${time} <= ${timestamp}`)
    }
    add(block, time)
  }
  return planned
}
