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
  /** The input is the caller's memory: the output has to be apart from it. */
  run(input: Uint8Array): Steps
  /** The same by another process, where one is at hand that is faster. */
  runElsewhere?(input: Uint8Array): Promise<Uint8Array | undefined> | undefined
}

/** What came of a call; undefined where it failed, which takes all gas that it was given, whatever the reason. */
export type PrecompileResult = { gasUsed: number; output: Uint8Array } | undefined

/** Gives others their turn; throws when nobody waits for the outcome any more. */
export type YieldToLoop = () => Promise<void>

/** Longer inputs take a tenth of a millisecond: dozens in a row must not hold up others. */
const LONG_INPUT_BYTES = 32_768

/** At once where one short step is enough. */
export function callPrecompile(
  precompile: Precompile,
  input: Uint8Array,
  gasLimit: number,
  yieldToLoop: YieldToLoop,
): PrecompileResult | Promise<PrecompileResult> {
  const { maxInputBytes = Number.POSITIVE_INFINITY } = precompile
  if (input.length > maxInputBytes) return undefined
  const gas = precompile.gas(input)
  if (gas === undefined || gas > gasLimit) return undefined
  const gasUsed = Number(gas)
  const elsewhere = precompile.runElsewhere?.(input)
  if (elsewhere !== undefined) {
    return elsewhere.then(async (output) => {
      await yieldToLoop()
      return resultOf(output, gasUsed)
    })
  }
  const loading = precompile.load?.()
  if (loading !== undefined) return loading.then(() => finishLater(precompile.run(input), gasUsed, yieldToLoop))
  const steps = precompile.run(input)
  if (input.length > LONG_INPUT_BYTES) return finishLater(steps, gasUsed, yieldToLoop)
  const step = steps.next()
  return step.done === true ? resultOf(step.value, gasUsed) : finishLater(steps, gasUsed, yieldToLoop)
}

async function finishLater(steps: Steps, gasUsed: number, yieldToLoop: YieldToLoop): Promise<PrecompileResult> {
  for (;;) {
    await yieldToLoop()
    const step = steps.next()
    if (step.done === true) return resultOf(step.value, gasUsed)
  }
}

function resultOf(output: Uint8Array | undefined, gasUsed: number): PrecompileResult {
  return output === undefined ? undefined : { gasUsed, output }
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
