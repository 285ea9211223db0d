import { batchesOf } from '../../../rollup/protocol/batch/channel.ts'
import { BROTLI_VERSION, decompress } from '../../../rollup/protocol/compression/decompress.ts'
import type { Decompressed } from '../../../rollup/protocol/compression/inflate.ts'
import { maxRlpBytesPerChannel } from '../../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../../rollup/protocol/types.ts'
import { LOST } from './batches.ts'
import { type Fault, faultOf } from './fault.ts'

/** The content of a channel. */
export interface ChannelContent {
  compression: 'zlib' | 'brotli' | null
  decompressed: Uint8Array
  /** `batch type ‖ content`, with its offset in the decompressed bytes. */
  batches: { byte: number; bytes: Uint8Array }[]
  fault: Fault | null
}

/** Decompresses a channel and finds its batches. Batches before a fault are kept, as in derivation. */
export async function readChannel(data: Uint8Array, config: RollupConfig | undefined): Promise<ChannelContent> {
  // Fjord's limit holds for every chain that still runs.
  const maxRlpBytes = config === undefined ? 100_000_000 : maxRlpBytesPerChannel(config, Number.MAX_SAFE_INTEGER)
  const batches: ChannelContent['batches'] = []
  let content: Decompressed
  try {
    content = await decompress(data, { fjord: true, maxRlpBytes })
  } catch (error) {
    const fault = faultOf(error, { in: 'channel', effect: 'derivation drops the channel' })
    return { compression: null, decompressed: new Uint8Array(), batches, fault }
  }
  const { output: decompressed } = content
  const compression = data[0] === BROTLI_VERSION ? 'brotli' : 'zlib'
  try {
    let byte = 0
    for (const bytes of batchesOf(content)) {
      batches.push({ byte, bytes })
      byte = bytes.byteOffset - decompressed.byteOffset + bytes.length
    }
    return { compression, decompressed, batches, fault: null }
  } catch (error) {
    const fault = faultOf(error, { in: 'decompressed channel', effect: LOST })
    return { compression, decompressed, batches, fault }
  }
}
