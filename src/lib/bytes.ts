export const EMPTY_BYTES = new Uint8Array(0)

export function concatBytes(...parts: readonly Uint8Array[]): Uint8Array {
  let length = 0
  for (const part of parts) length += part.length
  const out = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    out.set(part, offset)
    offset += part.length
  }
  return out
}

/**
 * Gives the memory of bytes that nobody uses any more back, where it is all their own: megabytes that come one after the other
 * may come faster than the collector. They are empty afterwards.
 */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength === buffer.byteLength) buffer.transfer(0)
}

/** Zero bytes among these: they cost less as calldata. */
export function countZeros(bytes: Uint8Array): number {
  const { length } = bytes
  let zeros = 0
  // By index: an iterator takes ten times as long, tens of milliseconds for a megabyte.
  for (let i = 0; i < length; i++) if (bytes[i] === 0) zeros++
  return zeros
}

/** As many a loop compares sooner than a native function is called, for which V8 first moves short arrays out of its heap. */
const LOOP_BYTES = 128

/** Not for secrets: how long it takes tells where they differ. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a === b) return true
  const { length } = a
  if (length !== b.length) return false
  if (length > LOOP_BYTES) return Buffer.compare(a, b) === 0
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return false
  return true
}

/** What a number holds exactly. */
const NUMBER_BYTES = 6

/** Unsigned big-endian integer of any length; empty bytes are 0. */
export function bytesToBigInt(bytes: Uint8Array): bigint {
  if (bytes.length <= NUMBER_BYTES) {
    let value = 0
    for (const byte of bytes) value = value * 256 + byte
    return BigInt(value)
  }
  return BigInt(`0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')}`)
}

/** Unsigned big-endian integer padded on the left to `length` bytes. Throws RangeError when it does not fit. */
export function bigIntToBytes(value: bigint, length: number): Uint8Array {
  if (value < 0n || value >> BigInt(length * 8) !== 0n) throw new RangeError(`${value} does not fit ${length} bytes`)
  return new Uint8Array(Buffer.from(value.toString(16).padStart(length * 2, '0'), 'hex'))
}

/** Minimal big-endian bytes; 0 is the empty string (RLP's integer form). */
export function bigIntToMinimalBytes(value: bigint | number): Uint8Array {
  if (value === 0 || value === 0n) return EMPTY_BYTES
  const hex = value.toString(16)
  return new Uint8Array(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'))
}

/** DataView over exactly these bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
