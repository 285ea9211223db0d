import { createKernelLoan } from './kernel.ts'

const lend = createKernelLoan()
/** The module reads and writes up to 15 bytes more than it is told. */
const SLACK_BYTES = 16

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
  return memory.slice(kernel.base, kernel.base + length)
}
