import { compressSync, uncompressSync } from 'snappy'
import { DecodeError } from '../../lib/errors.ts'

/**
 * A copy element of three bytes stands for at most 64, so no block unpacks to more than 22 times its size: a length
 * beyond that is false, and is refused before anything is allocated for it (snappy format_description, section 2.2).
 */
const MAX_RATIO = 22

export function compressSnappy(data: Uint8Array): Uint8Array {
  return plainView(compressSync(data))
}

/** The length that the block's head declares. Throws DecodeError when it is no uvarint of at most 32 bits. */
export function snappyDeclaredLength(block: Uint8Array): number {
  let length = 0
  for (let index = 0; index < 5; index++) {
    const byte = block[index]
    if (byte === undefined) break
    length += (byte & 0x7f) * 2 ** (7 * index)
    if (byte < 0x80) {
      if (length > 0xffffffff) break
      return length
    }
  }
  throw new DecodeError('snappy: the length at the head is not readable')
}

/** Undefined when the length at the head cannot be read. */
export function declaredBytesOf(compressed: Uint8Array): number | undefined {
  try {
    return snappyDeclaredLength(compressed)
  } catch {
    return undefined
  }
}

/** Decodes one block of at most `maxBytes`. Throws DecodeError; nothing is allocated for a length that cannot be. */
export function uncompressSnappy(block: Uint8Array, maxBytes: number): Uint8Array {
  const length = snappyDeclaredLength(block)
  if (length > maxBytes) throw new DecodeError(`snappy: ${length} bytes declared, at most ${maxBytes} allowed`)
  return uncompressDeclared(block, length)
}

/** Decodes one block of the length that its head declares, which was read before. Throws DecodeError. */
export function uncompressDeclared(block: Uint8Array, length: number): Uint8Array {
  if (length > block.length * MAX_RATIO) {
    throw new DecodeError(`snappy: ${length} bytes declared by a block of ${block.length}`)
  }
  let data: Buffer | string
  try {
    // A buffer that the library allocates by itself takes V8 five times longer than this copy of it.
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

/** A Buffer is no plain Uint8Array: its slice() is a view, and it turns into another JSON. */
function plainView(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.length)
}
