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
 * Copies `source` from `start` to `end` into the memory pool that Node shares among short buffers.
 * V8 gives an array of more than 64 bytes its own buffer. With own buffers, computing a state root takes 25 % more
 * time, and its nodes take 20 % more memory (`bench/stateRoot.ts`).
 */
export function pooledCopy(source: Uint8Array, start: number, end: number): Uint8Array {
  const length = end - start
  const { buffer, byteOffset } = Buffer.allocUnsafe(length)
  const copy = new Uint8Array(buffer, byteOffset, length)
  copy.set(length === source.length ? source : source.subarray(start, end))
  return copy
}

/** Counts zero bytes, which cost less gas as calldata. */
export function countZeros(bytes: Uint8Array): number {
  const { length } = bytes
  let zeros = 0
  // By index: an iterator takes ten times as long, tens of milliseconds for a megabyte.
  for (let i = 0; i < length; i++) if (bytes[i] === 0) zeros++
  return zeros
}

/** Not for secrets: its run time shows where the arrays differ. */
export function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}

/**
 * V8 keeps arrays of up to this many bytes within its heap. Reading `.buffer` moves such an array out, which is slow.
 */
const SHORT_BYTES = 64
const scratch = Buffer.alloc(SHORT_BYTES)

/** `hex`: two digits for each byte. `latin1`: one character for each byte. */
export function bytesToText(bytes: Uint8Array, encoding: 'hex' | 'latin1'): string {
  const { length } = bytes
  if (length > SHORT_BYTES) return Buffer.from(bytes.buffer, bytes.byteOffset, length).toString(encoding)
  for (let index = 0; index < length; index++) scratch[index] = bytes[index] ?? 0
  return scratch.toString(encoding, 0, length)
}

/** Unsigned big-endian integer of any length; empty bytes are 0. */
export function bytesToBigInt(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytesToText(bytes, 'hex')}`)
}

/** Unsigned big-endian integer padded on the left to `length` bytes. Throws RangeError when it does not fit. */
export function bigIntToBytes(value: bigint, length: number): Uint8Array {
  if (value < 0n || value >> BigInt(length * 8) !== 0n) throw new RangeError(`${value} does not fit ${length} bytes`)
  if (value <= MAX_EXACT) return numberToBytes(Number(value), length)
  return new Uint8Array(Buffer.from(value.toString(16).padStart(length * 2, '0'), 'hex'))
}

/** Minimal big-endian bytes; 0 is the empty string (RLP's integer form). */
export function bigIntToMinimalBytes(value: bigint | number): Uint8Array {
  if (value <= MAX_EXACT) {
    const number = Number(value)
    let length = 0
    for (let rest = number; rest >= 1; rest /= 256) length++
    return length === 0 ? EMPTY_BYTES : numberToBytes(number, length)
  }
  const hex = value.toString(16)
  return new Uint8Array(Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex'))
}

const MAX_EXACT = BigInt(Number.MAX_SAFE_INTEGER)

/** Arithmetic: hex text as the intermediate form takes five times as long. */
function numberToBytes(value: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let rest = value
  for (let index = length - 1; rest > 0; index--) {
    bytes[index] = rest % 256
    rest = Math.floor(rest / 256)
  }
  return bytes
}

export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
