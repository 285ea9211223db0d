import type { ChannelConfig } from '../../src/batcher/channel/channelConfig.ts'
import { compressAll } from '../../src/batcher/channel/compress/algorithm.ts'
import type { BatcherOptions } from '../../src/batcher/submitter/options.ts'
import { median } from '../figures.ts'
import { watchLoop } from '../loopWatch.ts'
import { type BenchChain, blocksOf } from './chains.ts'
import { type BuiltChannel, buildChannels, channelInput, configOf } from './channels.ts'

const MIN_SHARE = 0.8
const MAX_TURN_MS = 20
const ROUNDS = 3

const SETTINGS: readonly Pick<BatcherOptions, 'compressionAlgorithm' | 'dataAvailability' | 'targetNumFrames'>[] = [
  { compressionAlgorithm: 'zlib', dataAvailability: 'calldata', targetNumFrames: 1 },
  { compressionAlgorithm: 'zlib', dataAvailability: 'blobs', targetNumFrames: 6 },
  { compressionAlgorithm: 'brotli-9', dataAvailability: 'calldata', targetNumFrames: 1 },
  { compressionAlgorithm: 'brotli-9', dataAvailability: 'blobs', targetNumFrames: 6 },
  { compressionAlgorithm: 'brotli-10', dataAvailability: 'blobs', targetNumFrames: 6 },
]

/** Processor seconds of all threads, so that other load on the machine does not count. */
async function timed<T>(work: () => Promise<T>): Promise<{ seconds: number; result: T }> {
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  return { seconds: (user + system) / 1e6, result }
}

async function compressEach(inputs: readonly Uint8Array[], { algorithm }: ChannelConfig): Promise<void> {
  for (const input of inputs) await compressAll(input, algorithm)
}

/** Span channels compared with the compressor alone, which gets each whole channel. Returns true if all rows are met. */
export async function speed(chain: BenchChain): Promise<boolean> {
  const { config: rollupConfig } = chain.recorded
  const blocks = await blocksOf(chain)
  const inputsOf = (channels: readonly BuiltChannel[]): Uint8Array[] =>
    channels.map((channel) => channelInput(channel.blocks, 'span', rollupConfig))
  console.log(`\nspan channels of ${chain.name}, MB/s of input, medians of ${ROUNDS}, processor time`)
  console.log('algorithm  frames     channels  compressor  share  longest turn')
  let areMet = true
  for (const setting of SETTINGS) {
    const config = configOf(rollupConfig, { ...setting, batchType: 'span' })
    const shares: number[] = []
    const speeds: { built: number; alone: number }[] = []
    const iterations = watchLoop()
    let longestMs = 0
    // A submitter runs for days, so V8's compilation of new code does not count.
    const warm = await buildChannels(blocks, config, rollupConfig)
    await compressEach(inputsOf(warm.channels), config)
    for (let round = 0; round < ROUNDS; round++) {
      iterations.reset()
      const built = await timed(() => buildChannels(blocks, config, rollupConfig))
      longestMs = Math.max(longestMs, iterations.longest())
      const inputs = inputsOf(built.result.channels)
      const alone = await timed(() => compressEach(inputs, config))
      const megabytes = inputs.reduce((sum, { length }) => sum + length, 0) / 1e6
      shares.push(alone.seconds / built.seconds)
      speeds.push({ built: megabytes / built.seconds, alone: megabytes / alone.seconds })
    }
    iterations.stop()
    const share = median(shares)
    const isMet = share >= MIN_SHARE && longestMs <= MAX_TURN_MS
    areMet &&= isMet
    console.log(
      `${setting.compressionAlgorithm.padEnd(10)} ${`${setting.targetNumFrames} ${setting.dataAvailability}`.padEnd(10)} ` +
        `${median(speeds.map(({ built }) => built))
          .toFixed(1)
          .padStart(8)} ` +
        `${median(speeds.map(({ alone }) => alone))
          .toFixed(1)
          .padStart(
            11,
          )} ${share.toFixed(2).padStart(6)} ${`${longestMs.toFixed(1)} ms`.padStart(13)}  ${isMet ? 'met' : 'NOT MET'}`,
    )
  }
  return areMet
}
