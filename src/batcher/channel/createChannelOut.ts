import type { RollupConfig } from '../../rollup/protocol/types.ts'
import type { ChannelConfig } from './channelConfig.ts'
import type { ChannelOut } from './channelOut.ts'
import { SingularChannelOut } from './singularChannelOut.ts'
import { type ExpectedCompression, SpanChannelOut } from './spanChannelOut.ts'

/** @param expected compression ratios that channels of one chain share */
export function createChannelOut(
  config: ChannelConfig,
  rollupConfig: RollupConfig,
  expected?: ExpectedCompression,
): ChannelOut {
  return config.batchType === 'span'
    ? new SpanChannelOut(config, rollupConfig, expected)
    : new SingularChannelOut(config, rollupConfig)
}
