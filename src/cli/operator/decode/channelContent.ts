import { BROTLI_VERSION, decompress } from '../../../rollup/protocol/compression/decompress.ts'
import { maxRlpBytesPerChannel } from '../../../rollup/protocol/index.ts'
import type { RollupConfig } from '../../../rollup/protocol/types.ts'
import { type Fault, faultOf, MalformedError } from './fault.ts'
import { readString } from './rlpItem.ts'

/** What a channel's bytes hold. */
export interface ChannelContent {
  compression: 'zlib' | 'brotli' | null
  decompressed: Uint8Array
  /** `batch type ‖ content`, with where it stands in the decompressed bytes. */
  batches: { byte: number; bytes: Uint8Array }[]
  fault: Fault | null
}

const LOST = 'derivation leaves the channel here: batches before it count, what follows is lost'

/** Decompresses a channel and finds its batches. What stands before a fault is kept, as derivation does. */
export async function readChannel(data: Uint8Array, config: RollupConfig | undefined): Promise<ChannelContent> {
  // The limit of Fjord holds for every chain that still runs.
  const maxBytes = config === undefined ? 100_000_000 : maxRlpBytesPerChannel(config, Number.MAX_SAFE_INTEGER)
  const first = data[0]
  const method = (first ?? 0) & 0x0f
  if (first === undefined || (method !== 8 && method !== 15 && first !== BROTLI_VERSION)) {
    const rule =
      first === undefined
        ? 'the channel is empty'
        : `compression byte is ${first}: neither zlib (8 or 15 in its low half) nor brotli (1)`
    const fault = faultOf(new MalformedError(0, rule), { in: 'channel', effect: 'derivation drops the channel' })
    return { compression: null, decompressed: new Uint8Array(), batches: [], fault }
  }
  const isBrotli = first === BROTLI_VERSION
  const { output, fault } = await decompress(data, { fjord: true, maxRlpBytes: maxBytes })
  const found = splitBatches(output, fault !== undefined)
  return {
    compression: isBrotli ? 'brotli' : 'zlib',
    decompressed: output,
    batches: found.batches,
    fault:
      fault === undefined || found.ending === 'fault'
        ? found.fault
        : faultOf(new MalformedError(output.length, `the compressed data end with a fault: ${fault}`), {
            in: 'decompressed channel',
            effect: LOST,
          }),
  }
}

function splitBatches(output: Uint8Array, isCut: boolean) {
  const batches: ChannelContent['batches'] = []
  let byte = 0
  try {
    while (byte < output.length) {
      const { start, end } = readString(output, byte, output.length, `batch ${batches.length}`)
      const type = output[start]
      if (start === end || (type !== 0 && type !== 1)) {
        const rule = start === end ? 'is empty' : `has type ${type}, expected 0 (singular) or 1 (span)`
        throw new MalformedError(start, `batch ${batches.length} ${rule}`)
      }
      batches.push({ byte, bytes: output.subarray(start, end) })
      byte = end
    }
    return { batches, fault: null, ending: 'end' as const }
  } catch (error) {
    // What was cut off by the fault of the compressed data is no fault of its own.
    const ending = isCut ? ('cut' as const) : ('fault' as const)
    return { batches, fault: faultOf(error, { in: 'decompressed channel', effect: LOST }), ending }
  }
}
