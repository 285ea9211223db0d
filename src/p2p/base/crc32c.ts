import { viewOf } from '../../lib/bytes.ts'

/** CRC-32C (Castagnoli), reflected polynomial. */
const POLYNOMIAL = 0x82f63b78
const SLICE_BYTES = 8

/** One table for each byte of a slice: what a byte does to the checksum that so many bytes after it. */
const TABLES = ((): Uint32Array => {
  const tables = new Uint32Array(SLICE_BYTES * 256)
  for (let byte = 0; byte < 256; byte++) {
    let value = byte
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ POLYNOMIAL : value >>> 1
    tables[byte] = value
  }
  for (let at = 256; at < tables.length; at++) {
    const before = tables[at - 256] ?? 0
    tables[at] = (before >>> 8) ^ (tables[before & 0xff] ?? 0)
  }
  return tables
})()

const table = (after: number, byte: number): number => TABLES[after * 256 + byte] ?? 0

/** Eight bytes at a time, which is several times faster than one. */
export function crc32c(data: Uint8Array): number {
  const view = viewOf(data)
  const sliced = data.length - (data.length % SLICE_BYTES)
  let crc = 0xffffffff
  for (let at = 0; at < sliced; at += SLICE_BYTES) {
    const low = crc ^ view.getUint32(at, true)
    const high = view.getUint32(at + 4, true)
    crc =
      table(7, low & 0xff) ^
      table(6, (low >>> 8) & 0xff) ^
      table(5, (low >>> 16) & 0xff) ^
      table(4, low >>> 24) ^
      table(3, high & 0xff) ^
      table(2, (high >>> 8) & 0xff) ^
      table(1, (high >>> 16) & 0xff) ^
      table(0, high >>> 24)
  }
  for (let at = sliced; at < data.length; at++) crc = table(0, (crc ^ view.getUint8(at)) & 0xff) ^ (crc >>> 8)
  return (crc ^ 0xffffffff) >>> 0
}
