import { compressSync, uncompressSync } from 'snappy'
import { DecodeError } from '../../lib/errors.ts'

/**
 * A three-byte copy element expands to at most 64 bytes, so a block expands to at most 22 times its size (snappy
 * format_description, section 2.2). A larger declared length is false, and is refused before any allocation.
 */
const MAX_RATIO = 22

export function compressSnappy(data: Uint8Array): Uint8Array {
  return plainView(compressSync(data))
}

/** The length that the block's header declares; undefined when it is not a uvarint of at most 32 bits. */
export function declaredBytesOf(block: Uint8Array): number | undefined {
  let length = 0
  for (const [index, byte] of block.subarray(0, 5).entries()) {
    length += (byte & 0x7f) * 2 ** (7 * index)
    if (byte < 0x80) return length > 0xffffffff ? undefined : length
  }
  return undefined
}

/** As `declaredBytesOf`. Throws DecodeError. */
export function snappyDeclaredLength(block: Uint8Array): number {
  const length = declaredBytesOf(block)
  if (length === undefined) throw new DecodeError('snappy: the length in the header is not readable')
  return length
}

/**
 * Decodes one block of at most `maxBytes`. Throws DecodeError, before any allocation if the declared length is
 * impossible.
 */
export function uncompressSnappy(block: Uint8Array, maxBytes: number): Uint8Array {
  const length = snappyDeclaredLength(block)
  if (length > maxBytes) throw new DecodeError(`snappy: ${length} bytes declared, at most ${maxBytes} allowed`)
  return uncompressDeclared(block, length)
}

/** Decodes one block; the caller has already read the declared `length`. Throws DecodeError. */
export function uncompressDeclared(block: Uint8Array, length: number): Uint8Array {
  if (length > block.length * MAX_RATIO) {
    throw new DecodeError(`snappy: ${length} bytes declared by a block of ${block.length}`)
  }
  let data: Buffer | string
  try {
    // V8 takes five times longer for a buffer that the library allocates than for this copy.
    data = uncompressSync(block, { copyOutputData: true })
  } catch (cause) {
    throw damaged(cause)
  }
  if (typeof data === 'string' || data.length !== length) throw damaged()
  return plainView(data)
}

function damaged(cause?: unknown): DecodeError {
  return new DecodeError('snappy: damaged block', { cause })
}

/** Node's Buffer differs from a plain Uint8Array: `slice()` returns a view, and its JSON form is different. */
function plainView(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}
