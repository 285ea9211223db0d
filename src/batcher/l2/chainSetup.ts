import { unixSeconds } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { checkRollupConfig, parseRollupConfig } from '../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { createChannelConfig } from '../channel/channelConfig.ts'
import { CheapestChoice, type DaChoice, fixedChoice } from '../channel/daChoice.ts'
import type { BatchSubmitterModules } from '../submitter/modules.ts'
import type { BatcherOptions } from '../submitter/options.ts'
import type { Throttler } from '../throttle/throttler.ts'

/** Throws UsageError if options and chain contradict each other. */
export function createDaChoice(
  modules: Pick<BatchSubmitterModules, 'clock' | 'l1' | 'logger' | 'sender'> & {
    throttler: Pick<Throttler, 'isThrottling'>
  },
  options: BatcherOptions,
  rollupConfig: RollupConfig,
): DaChoice {
  const now = unixSeconds(modules.clock)
  const { dataAvailability } = options
  if (dataAvailability !== 'auto') return fixedChoice(createChannelConfig(options, rollupConfig, now))
  const configs = {
    blobs: createChannelConfig(options, rollupConfig, now, { useBlobs: true }),
    calldata: createChannelConfig(options, rollupConfig, now, { useBlobs: false }),
  }
  return new CheapestChoice(modules, configs, {
    minTipWei: () => modules.sender.tunables.minTipCapWei,
    maxPriceAgeMs: options.pollIntervalMs,
    // Blobs carry more data a transaction, so they clear a backlog faster.
    mustTakeBlobs: () => modules.throttler.isThrottling,
  })
}

/** Throws UsageError if L1 or L2 has another chain ID than the rollup node's config. */
export async function fetchRollupConfig(
  { rollup, l1, l2, sender, logger }: Pick<BatchSubmitterModules, 'rollup' | 'l1' | 'l2' | 'sender' | 'logger'>,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<RollupConfig> {
  const config = parseRollupConfig(await rollup.request('optimism_rollupConfig', [], { timeoutMs, signal }))
  checkRollupConfig(config)
  const [l1ChainId, l2ChainId] = await Promise.all([l1.chainId(signal), l2.chainId(signal)])
  if (l1ChainId !== config.l1ChainId) {
    throw new UsageError(
      `--l1-eth-rpc serves chain ${l1ChainId}, but the rollup node's L1 is chain ${config.l1ChainId}`,
    )
  }
  if (l2ChainId !== config.l2ChainId) {
    throw new UsageError(
      `--l2-eth-rpc serves chain ${l2ChainId}, but the rollup node's L2 is chain ${config.l2ChainId}`,
    )
  }
  const expected = config.genesis.systemConfig.batcherAddress
  if (expected !== sender.from) {
    // Not an error: the system config on L1 may have changed since genesis.
    logger.info('The sender is not the batcher address of the genesis system config', { from: sender.from, expected })
  }
  return config
}
