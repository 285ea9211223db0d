import { keccak256 } from '../hash.ts'
import { createKernelLoan, HASH_BYTES } from './kernel.ts'

const lend = createKernelLoan()
/** Bytes that one step of Keccak-256 takes in. */
const RATE = 136
const LENGTH_BYTES = 4
/** From so many on hashes share a buffer: with memory of its own each takes V8 two more objects, which it moves about at first. */
const MANY_HASHES = 8

/** keccak256 of each input, two at a time where the processor can: for many short ones. */
export function keccak256Many(inputs: readonly Uint8Array[]): Uint8Array[] {
  // A single one fills half of each vector only: keccak256 knows when that is worth it.
  const kernel = inputs.length < 2 ? undefined : lend()
  if (kernel === undefined) return inputs.map(keccak256)
  const count = inputs.length
  const lengthsAt = kernel.base
  const hashesAt = lengthsAt + Math.ceil((count * LENGTH_BYTES) / 16) * 16
  const inputsAt = hashesAt + count * HASH_BYTES
  let bytes = 0
  for (const { length } of inputs) bytes += (Math.floor(length / RATE) + 1) * RATE
  const memory = kernel.reserve(inputsAt - kernel.base + bytes)
  const lengths = new Uint32Array(memory.buffer, lengthsAt, count)
  let at = inputsAt
  for (let index = 0; index < count; index++) {
    const input = inputs[index]
    if (input === undefined) continue
    lengths[index] = input.length
    memory.set(input, at)
    at += (Math.floor(input.length / RATE) + 1) * RATE
  }
  kernel.hashMany(inputsAt, lengthsAt, count, hashesAt)
  if (count < MANY_HASHES) {
    return inputs.map((_, index) => memory.slice(hashesAt + index * HASH_BYTES, hashesAt + (index + 1) * HASH_BYTES))
  }
  const hashes = memory.slice(hashesAt, inputsAt)
  return inputs.map((_, index) => hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES))
}
