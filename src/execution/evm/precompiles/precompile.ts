/**
 * What a precompile does for its gas, in steps of a few milliseconds: it yields where others may have their turn, and
 * ends with its output, or with undefined when it fails.
 */
export type Steps = Generator<undefined, Uint8Array | undefined, undefined>

export interface Precompile {
  /** Takes all that it was given where the input is no good in itself. */
  gas(input: Uint8Array): bigint | undefined
  /** Most bytes of input; longer ones fail. */
  maxInputBytes?: number
  /** What has to be there before it runs, if it is not. */
  load?(): Promise<unknown> | undefined
  run(input: Uint8Array): Steps
}

/** 32 bytes of zeros, or with a one at the end. */
export function flagWord(flag: boolean): Uint8Array {
  const word = new Uint8Array(32)
  if (flag) word[31] = 1
  return word
}

/** The input as if zeros without end stood behind it. */
export function padded(input: Uint8Array, length: number): Uint8Array {
  if (input.length >= length) return input
  const bytes = new Uint8Array(length)
  bytes.set(input)
  return bytes
}
