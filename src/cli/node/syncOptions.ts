import type { Logger } from '../../lib/logger.ts'
import type { SyncOptions } from '../../rollup/engine/index.ts'
import type { RollupConfig } from '../../rollup/protocol/index.ts'
import type { FlagValues } from '../shared/flags.ts'
import type { p2pFlags } from './p2pFlags.ts'
import type { rollupNodeFlags } from './rollupNodeFlags.ts'

type Values = Pick<
  FlagValues<typeof rollupNodeFlags & typeof p2pFlags>,
  | 'syncmode'
  | 'syncmodeReqResp'
  | 'syncmodeOffsetElSafe'
  | 'l2Enginekind'
  | 'p2pDisable'
  | 'sequencerEnabled'
  | 'sequencerStopped'
>

/** How the node follows the unsafe chain, according to the flags. */
export function syncOptionsFromFlags(values: Values, config: RollupConfig, logger: Logger): SyncOptions {
  const { syncmode: mode } = values
  const bySequencer = values.sequencerEnabled && !values.sequencerStopped
  if (mode === 'execution-layer' && (values.p2pDisable || bySequencer)) {
    logger.warn('The engine must sync first, and it starts with the first gossiped block. Until then the node waits', {
      flag: 'syncmode',
      p2p: !values.p2pDisable,
    })
  }
  return {
    mode,
    reqResp: values.syncmodeReqResp,
    offsetBlocks: mode === 'execution-layer' ? Math.ceil(values.syncmodeOffsetElSafe / 1000 / config.blockTime) : 0,
    // geth syncs by its own network only until it has a finalized block.
    resyncs: values.l2Enginekind !== 'geth',
  }
}
