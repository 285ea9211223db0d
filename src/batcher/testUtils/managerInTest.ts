import { randomBytes } from 'node:crypto'
import { Registry } from 'prom-client'
import { type Hex, toHex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { decodeFrames } from '../../rollup/protocol/index.ts'
import { type ChannelConfig, createChannelConfig } from '../channel/channelConfig.ts'
import { ChannelManager, type ChannelManagerModules } from '../channel/channelManager.ts'
import { fixedChoice } from '../channel/daChoice.ts'
import { payloadOf, type TxData } from '../channel/txData.ts'
import type { BatcherBlock } from '../l2/l2Block.ts'
import { createBatcherMetrics } from '../submitter/metrics.ts'
import type { BatcherOptions } from '../submitter/options.ts'
import { blocksOfChannel, channelsOf } from './l1Batches.ts'
import { batcherBlocks, loadRecordedChain } from './recordedChain.ts'
import { TEST_BATCHER_OPTIONS } from './submitterSetup.ts'
import { takeTxData } from './takeTxData.ts'

const chain = loadRecordedChain('holocene-span-brotli-calldata')
export const recorded: readonly BatcherBlock[] = await batcherBlocks(chain)
export const rollupConfig = chain.config
const NOW = rollupConfig.genesis.l2Time + 100

/** Channels close by their duration only if `options` say so. */
export function createManager(
  options: Partial<BatcherOptions> = {},
  modules: Partial<ChannelManagerModules> = {},
  da = fixedChoice(createConfig(options)),
): ChannelManager {
  return new ChannelManager(
    { logger: silentLogger, metrics: createBatcherMetrics(new Registry()), ...modules },
    { da, rollupConfig },
  )
}

export function createConfig(options: Partial<BatcherOptions>): ChannelConfig {
  return createChannelConfig({ ...TEST_BATCHER_OPTIONS, maxChannelDuration: 0, ...options }, rollupConfig, NOW)
}

/** Throws if a block does not extend the one before. */
export function addAll(manager: ChannelManager, blocks: readonly BatcherBlock[]): void {
  for (const block of blocks) if (!manager.addBlock(block)) throw new Error(`block ${block.number} was refused`)
}

/** Takes all data of the manager, and confirms each transaction at once. */
export async function takeAll(manager: ChannelManager): Promise<TxData[]> {
  const taken: TxData[] = []
  for (;;) {
    const data = await takeTxData(manager, 0, { force: true })
    if (data === undefined) return taken
    taken.push(data)
    manager.txConfirmed(data.id, 1)
  }
}

/** Decodes the data with the derivation codecs. */
export async function derive(taken: readonly TxData[]): Promise<BlockEssence[]> {
  const frames = taken.flatMap((txData) => {
    const { data } = payloadOf(txData)
    return decodeFrames(data).map((frame) => ({ ...frame, l1Block: 1, txSizeBytes: data.length, txHash: '' }))
  })
  const blocks = await Promise.all(channelsOf(frames).map(({ data }) => blocksOfChannel(data, rollupConfig)))
  return blocks.flat().map(essence)
}

export interface BlockEssence {
  timestamp: number
  transactions: Hex[]
}

/** The fields that a block and its batch share. */
export function essence({ timestamp, transactions }: Pick<BatcherBlock, 'timestamp' | 'transactions'>): BlockEssence {
  return { timestamp, transactions: transactions.map((transaction) => toHex(transaction)) }
}

/** Blocks on top of `parent`, each with one incompressible transaction of `bytes` bytes. */
export function sizedBlocks(count: number, bytes: number, parent?: BatcherBlock): BatcherBlock[] {
  let parentHash: Hex = parent?.hash ?? `0x${'00'.repeat(32)}`
  const first = (parent?.number ?? 0) + 1
  return Array.from({ length: count }, (_, index) => {
    const hash = toHex(randomBytes(32))
    const block: BatcherBlock = {
      hash,
      parentHash,
      number: first + index,
      timestamp: rollupConfig.genesis.l2Time + 2 * (first + index),
      l1Origin: { hash: `0x${'11'.repeat(32)}`, number: 1 },
      sequenceNumber: index,
      transactions: [new Uint8Array(randomBytes(bytes))],
      rawSizeBytes: bytes + 72,
      estimatedDaBytes: bytes + 70,
    }
    parentHash = hash
    return block
  })
}
