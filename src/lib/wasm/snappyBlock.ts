import { createKernelLoan } from './kernel.ts'

const lend = createKernelLoan()
/** The module reads and writes up to 15 bytes more than it is told. */
const SLACK_BYTES = 16
/** Short blocks share a buffer: one of their own costs more than unpacking them. */
const POOLED_BYTES = 4_000

/**
 * The `length` bytes that a snappy block holds whose elements begin at `start`; undefined when it is damaged or holds
 * another length. `unsupported` where the processor cannot run the module.
 */
export function unpackSnappyElements(
  block: Uint8Array,
  start: number,
  length: number,
): Uint8Array | undefined | 'unsupported' {
  const kernel = lend()
  if (kernel === undefined) return 'unsupported'
  const source = kernel.base + length + SLACK_BYTES
  const memory = kernel.reserve(length + block.length + 2 * SLACK_BYTES)
  memory.set(block, source)
  if (kernel.uncompress(source + start, block.length - start, kernel.base, length) === 0) return undefined
  if (length > POOLED_BYTES) return memory.slice(kernel.base, kernel.base + length)
  const pooled = Buffer.allocUnsafe(length)
  pooled.set(memory.subarray(kernel.base, kernel.base + length))
  return new Uint8Array(pooled.buffer, pooled.byteOffset, length)
}
