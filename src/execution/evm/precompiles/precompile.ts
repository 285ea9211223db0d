/**
 * The run of a precompile, in steps of a few milliseconds. It yields between the steps, and returns the output, or
 * undefined if it fails.
 */
export type PrecompileRun = Generator<undefined, Uint8Array | undefined, undefined>

export interface Precompile {
  /** Undefined for an invalid input. The call then uses all its gas. */
  gas(input: Uint8Array): bigint | undefined
  /** Most bytes of input. A longer input fails. */
  maxInputBytes?: number
  /** Undefined if nothing is to be loaded before a run. */
  load?(): Promise<void> | undefined
  /** The input is a view of the caller's memory, so the output must be a copy. */
  run(input: Uint8Array): PrecompileRun
  /** Runs in another process, if a faster one is available. */
  runElsewhere?(input: Uint8Array): Promise<Uint8Array | undefined> | undefined
}

/** The run of a precompile that takes one short step. */
export function oneStep(run: (input: Uint8Array) => Uint8Array | undefined): Precompile['run'] {
  // biome-ignore lint/correctness/useYield: there is only one step
  return function* (input) {
    return run(input)
  }
}

/** Result of a call. Undefined if it failed, for whatever reason. A failure uses all gas of the call. */
export type PrecompileResult = { gasUsed: number; output: Uint8Array } | undefined

/** Yields to the event loop. Throws if the execution was aborted. */
export type YieldToLoop = () => Promise<void>

/** Longer inputs take a tenth of a millisecond. Dozens in a row must not block the event loop. */
const LONG_INPUT_BYTES = 32_768

/** Synchronous if one short step is enough. */
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

async function finishLater(steps: PrecompileRun, gasUsed: number, yieldToLoop: YieldToLoop): Promise<PrecompileResult> {
  for (;;) {
    await yieldToLoop()
    const step = steps.next()
    if (step.done === true) return resultOf(step.value, gasUsed)
  }
}

function resultOf(output: Uint8Array | undefined, gasUsed: number): PrecompileResult {
  return output === undefined ? undefined : { gasUsed, output }
}

/** 32 bytes: zero or one. */
export function flagWord(flag: boolean): Uint8Array {
  const word = new Uint8Array(32)
  if (flag) word[31] = 1
  return word
}

/** The input, padded with zeros at the end to `length`. */
export function padded(input: Uint8Array, length: number): Uint8Array {
  if (input.length >= length) return input
  const bytes = new Uint8Array(length)
  bytes.set(input)
  return bytes
}
