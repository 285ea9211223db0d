import { keccak256 } from '../hash.ts'
import { createKernel, HASH_BYTES, type Kernel, RATE } from './kernel.ts'

/** Limits of one call of the kernel: the inputs then stay in the processor's cache. */
const MAX_COUNT = 64
const MAX_BYTES = 32_768
/** Longer inputs are hashed one by one, so that the kernel's memory need not grow. */
const LONG_BYTES = 4_096

/**
 * keccak256 of each input, two at a time if the processor can. Each input is copied before the iterator advances, so a
 * generator may reuse one buffer.
 */
export function keccak256Many(inputs: Iterable<Uint8Array>): Uint8Array[] {
  if (batch === undefined) return Array.from(inputs, keccak256)
  const hashes: Uint8Array[] = []
  for (const input of inputs) {
    if (input.length > LONG_BYTES) {
      batch.finish(hashes)
      hashes.push(keccak256(input))
    } else {
      batch.add(input)
      if (batch.isFull()) batch.finish(hashes)
    }
  }
  batch.finish(hashes)
  return hashes
}

/** Inputs that are hashed together. The kernel's memory holds their lengths, the hashes, and the inputs. */
function createBatch(kernel: Kernel) {
  const lengthsAt = kernel.base
  const hashesAt = lengthsAt + MAX_COUNT * Uint32Array.BYTES_PER_ELEMENT
  const inputsAt = hashesAt + MAX_COUNT * HASH_BYTES
  const memory = kernel.reserve(inputsAt + MAX_BYTES - kernel.base)
  const lengths = new Uint32Array(memory.buffer, lengthsAt, MAX_COUNT)
  let count = 0
  let end = inputsAt
  return {
    add(input: Uint8Array): void {
      memory.set(input, end)
      lengths[count++] = input.length
      end += paddedBytes(input.length)
    },
    isFull: (): boolean => count === MAX_COUNT || end + paddedBytes(LONG_BYTES) > inputsAt + MAX_BYTES,
    /** Computes and appends the hashes of the added inputs. */
    finish(hashes: Uint8Array[]): void {
      kernel.hashMany(inputsAt, lengthsAt, count, hashesAt)
      for (let at = hashesAt; count > 0; at += HASH_BYTES, count--) hashes.push(memory.slice(at, at + HASH_BYTES))
      end = inputsAt
    },
  }
}

const paddedBytes = (length: number): number => (Math.floor(length / RATE) + 1) * RATE

const kernel = createKernel()
const batch = kernel && createBatch(kernel)
