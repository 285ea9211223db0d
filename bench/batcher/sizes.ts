import { promisify } from 'node:util'
import { deflate } from 'node:zlib'
import { compressAll } from '../../src/batcher/channel/compress/algorithm.ts'
import type { BatcherOptions } from '../../src/batcher/submitter/options.ts'
import { type BenchChain, blocksOf } from './chains.ts'
import { buildChannels, channelInput, configOf } from './channels.ts'

/** Target: the ratio of a channel to the same data compressed in one call. */
const MAX_OVER_AT_ONCE = 1.01
const ALGORITHMS = ['zlib', 'brotli-9', 'brotli-10', 'brotli-11'] as const

type Setting = Pick<BatcherOptions, 'batchType' | 'compressor' | 'compressionAlgorithm'>

const SETTINGS: readonly Setting[] = [
  { batchType: 'singular', compressor: 'none', compressionAlgorithm: 'zlib' },
  ...(['shadow', 'ratio'] as const).flatMap((compressor) =>
    ALGORITHMS.map((compressionAlgorithm): Setting => ({ batchType: 'singular', compressor, compressionAlgorithm })),
  ),
  // Span batches are measured while they are built, with every compressor.
  ...ALGORITHMS.map(
    (compressionAlgorithm): Setting => ({ batchType: 'span', compressor: 'shadow', compressionAlgorithm }),
  ),
]

const store = promisify(deflate)

/** Calldata bytes on L1 for each L2 transaction, with version byte and frames. Returns true if all rows are met. */
export async function sizes(chain: BenchChain): Promise<boolean> {
  const { config: rollupConfig } = chain.recorded
  const blocks = await blocksOf(chain)
  const transactions = blocks.reduce((sum, block) => sum + block.transactions.length, 0)
  const raw = blocks.reduce((sum, block) => block.transactions.reduce((bytes, tx) => bytes + tx.length, sum), 0)
  console.log(`\n${chain.name}: ${transactions} transactions of ${(raw / transactions).toFixed(1)} bytes`)
  console.log('batches   compressor  algorithm   channels  L1 bytes/tx  beside all at once')
  let areMet = true
  for (const setting of SETTINGS) {
    const config = configOf(rollupConfig, setting)
    const { channels, l1Bytes } = await buildChannels(blocks, config, rollupConfig)
    let atOnce = 0
    for (const channel of channels) {
      const input = channelInput(channel.blocks, config.batchType, rollupConfig)
      const whole = setting.compressor === 'none' ? store(input, { level: 0 }) : compressAll(input, config.algorithm)
      atOnce += (await whole).length
    }
    const over = channels.reduce((sum, { outputBytes }) => sum + outputBytes, 0) / atOnce
    const isMet = over <= MAX_OVER_AT_ONCE
    areMet &&= isMet
    console.log(
      `${setting.batchType.padEnd(9)} ${(setting.batchType === 'span' ? '-' : setting.compressor).padEnd(11)} ` +
        `${setting.compressionAlgorithm.padEnd(11)} ${String(channels.length).padStart(8)} ` +
        `${(l1Bytes / transactions).toFixed(1).padStart(12)} ${over.toFixed(4).padStart(11)}  ${isMet ? 'met' : 'NOT MET'}`,
    )
  }
  return areMet
}
