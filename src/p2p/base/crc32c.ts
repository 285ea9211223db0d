import { createCRC32 } from 'hash-wasm'
import { viewOf } from '../../lib/bytes.ts'

// One shared instance is safe because every use runs init, update and digest without yielding.
const crc = await createCRC32(0x82f63b78)

/** CRC-32C (Castagnoli). */
export function crc32c(data: Uint8Array): number {
  return viewOf(crc.init().update(data).digest('binary')).getUint32(0)
}
