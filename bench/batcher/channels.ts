import { Registry } from 'prom-client'
import { type ChannelConfig, createChannelConfig } from '../../src/batcher/channel/channelConfig.ts'
import { ChannelManager } from '../../src/batcher/channel/channelManager.ts'
import { fixedChoice } from '../../src/batcher/channel/daChoice.ts'
import { payloadOf } from '../../src/batcher/channel/txData.ts'
import type { BatcherBlock } from '../../src/batcher/l2/l2Block.ts'
import { createBatcherMetrics } from '../../src/batcher/submitter/metrics.ts'
import type { BatcherOptions } from '../../src/batcher/submitter/options.ts'
import { TEST_BATCHER_OPTIONS } from '../../src/batcher/testUtils/submitterSetup.ts'
import { concatBytes } from '../../src/lib/bytes.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { encodeSingularBatch, encodeSpanBatch } from '../../src/rollup/protocol/index.ts'
import type { RollupConfig } from '../../src/rollup/protocol/types.ts'

const FAR_FUTURE = 4_000_000_000

/** op-batcher's defaults, as in the program, but without a channel duration. */
export function configOf(rollupConfig: RollupConfig, options: Partial<BatcherOptions>): ChannelConfig {
  const all = { ...TEST_BATCHER_OPTIONS, maxChannelDuration: 0, ...options }
  return createChannelConfig(all, rollupConfig, FAR_FUTURE)
}

export interface BuiltChannel {
  blocks: readonly BatcherBlock[]
  outputBytes: number
}

/** Builds channels from the blocks as the program does, until the last channel is closed. */
export async function buildChannels(
  blocks: readonly BatcherBlock[],
  config: ChannelConfig,
  rollupConfig: RollupConfig,
): Promise<{ channels: BuiltChannel[]; l1Bytes: number }> {
  const modules = { logger: silentLogger, metrics: createBatcherMetrics(new Registry()) }
  const manager = new ChannelManager(modules, { da: fixedChoice(config), rollupConfig })
  for (const block of blocks) manager.addBlock(block)
  manager.flush()
  let l1Bytes = 0
  for (;;) {
    await manager.fill(0, { deadlines: false })
    for (let data = manager.nextTxData(); data !== undefined; data = manager.nextTxData()) {
      l1Bytes += payloadOf({ ...data, asBlobs: false }).data.length
      manager.txConfirmed(data.id, 1)
    }
    if (manager.pendingBlockCount === 0) break
  }
  const channels = manager.channels.map((channel) => ({ blocks: channel.blocks, outputBytes: channel.outputBytes }))
  return { channels, l1Bytes }
}

/** The uncompressed content of a channel: one span batch, or a singular batch for each block. */
export function channelInput(
  blocks: readonly BatcherBlock[],
  batchType: ChannelConfig['batchType'],
  rollupConfig: RollupConfig,
): Uint8Array {
  const batches = blocks.map((block) => ({
    ...block,
    epochNumber: block.l1Origin.number,
    epochHash: block.l1Origin.hash,
  }))
  if (batchType === 'span') return encodeRlp(encodeSpanBatch(batches, rollupConfig))
  return concatBytes(...batches.map((batch) => encodeRlp(encodeSingularBatch(batch))))
}
