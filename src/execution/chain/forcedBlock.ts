import { systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { PayloadAttributes } from '../../rollup/protocol/types.ts'
import { OpBuildJob } from '../block/buildJob.ts'
import { SlowTransactions } from '../block/slowTransactions.ts'
import type { EvmModules } from '../evm/environment.ts'
import type { BlockHeader } from '../primitives/block.ts'
import type { WorldState } from '../state/worldState.ts'
import type { BuiltBlock } from './building.ts'

/**
 * Builds a block of the attributes' transactions alone, which is not kept. Throws ChainError `invalid-attributes` or
 * `build-failed`.
 */
export async function buildForced(
  { evm, world }: { evm: EvmModules; world: WorldState },
  { parent, attributes }: { parent: BlockHeader; attributes: PayloadAttributes },
): Promise<BuiltBlock> {
  const unused = { clock: systemClock, slow: new SlowTransactions(), txSource: undefined, onBuilt: () => {} }
  const modules = { evm, world, logger: silentLogger, ...unused }
  const job = await OpBuildJob.start(modules, { parent, attributes, refundsWarming: false })
  return job.seal()
}
