import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import {
  type Engine,
  type EngineController,
  type EngineHeads,
  findStartHeads,
  type L1Lookup,
  type StartHeadsOptions,
} from '../engine/index.ts'
import type { RollupConfig } from '../protocol/types.ts'

export interface ResetHeadsModules {
  controller: Pick<EngineController, 'reset'>
  engine: Pick<Engine, 'blockRefByLabel' | 'blockRefByHash' | 'blockRefByNumber'>
  l1: L1Lookup
  clock: Clock
  logger: Logger
}

/** Finds the heads and sets the engine to them. Throws the errors of `findStartHeads` and of the engine. */
export async function resetHeads(
  { controller, engine, l1, clock, logger }: ResetHeadsModules,
  config: RollupConfig,
  options: StartHeadsOptions,
): Promise<EngineHeads> {
  const heads = await controller.reset(() => findStartHeads({ engine, l1, clock, logger }, config, options))
  logger.info('Found heads to start from', {
    unsafe: heads.unsafe.number,
    safe: heads.safe.number,
    finalized: heads.finalized.number,
  })
  return heads
}
