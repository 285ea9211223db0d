import { viewOf } from '../../../lib/bytes.ts'
import { borrowArithmetic, returnArithmetic } from '../../../lib/wasm/arithmetic.ts'
import type { Precompile } from './precompile.ts'

// EIP-152: input rounds (4, big-endian) ‖ h (64) ‖ m (128) ‖ t (16) ‖ f (1). One gas for each round.

const INPUT_BYTES = 213
const STATE_BYTES = 64
const MESSAGE_BYTES = 128
/** Rounds of 4 ms. */
const ROUNDS_PER_STEP = 120_000
/** RFC 7693, section 2.6. */
const IV = [
  0x6a09e667f3bcc908n,
  0xbb67ae8584caa73bn,
  0x3c6ef372fe94f82bn,
  0xa54ff53a5f1d36f1n,
  0x510e527fade682d1n,
  0x9b05688c2b3e6c1fn,
  0x1f83d9abfb41bd6bn,
  0x5be0cd19137e2179n,
]
const ALL_ONES = 2n ** 64n - 1n

export const blake2f: Precompile = {
  gas: (input) => (isWellFormed(input) ? BigInt(viewOf(input).getUint32(0)) : undefined),
  *run(input) {
    if (!isWellFormed(input)) return undefined
    const view = viewOf(input)
    const rounds = view.getUint32(0)
    const arithmetic = borrowArithmetic()
    const { base: work } = arithmetic
    const message = work + 2 * STATE_BYTES
    const memory = arithmetic.reserve(2 * STATE_BYTES + MESSAGE_BYTES)
    const words = new DataView(memory.buffer)
    memory.set(input.subarray(4, 4 + STATE_BYTES), work)
    for (const [index, word] of IV.entries()) words.setBigUint64(work + STATE_BYTES + index * 8, word, true)
    const change = (index: number, mask: bigint) =>
      words.setBigUint64(work + index * 8, words.getBigUint64(work + index * 8, true) ^ mask, true)
    change(12, view.getBigUint64(196, true))
    change(13, view.getBigUint64(204, true))
    if (input[212] === 1) change(14, ALL_ONES)
    memory.set(input.subarray(68, 68 + MESSAGE_BYTES), message)
    for (let first = 0; first < rounds; first += ROUNDS_PER_STEP) {
      if (first > 0) yield
      arithmetic.mix(work, message, first, Math.min(ROUNDS_PER_STEP, rounds - first))
    }
    const output = input.slice(4, 4 + STATE_BYTES)
    for (let i = 0; i < STATE_BYTES; i++) {
      output[i] = (output[i] ?? 0) ^ (memory[work + i] ?? 0) ^ (memory[work + STATE_BYTES + i] ?? 0)
    }
    returnArithmetic(arithmetic)
    return output
  },
}

function isWellFormed(input: Uint8Array): boolean {
  return input.length === INPUT_BYTES && (input[INPUT_BYTES - 1] ?? 0) <= 1
}
