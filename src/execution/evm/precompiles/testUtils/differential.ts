import { randomInt } from 'node:crypto'
import { Common, Hardfork, Mainnet } from '@ethereumjs/common'
import { createEVM, NobleBN254 } from '@ethereumjs/evm'
import { expect } from 'vitest'
import { bigIntToBytes, concatBytes, EMPTY_BYTES } from '../../../../lib/bytes.ts'
import { toHex } from '../../../../lib/hex.ts'
import { isFullRun } from '../../../../lib/testUtils/propertyRuns.ts'
import { rulesAt } from '../../../config/chainConfig.ts'
import { wordToAddress } from '../../interpreter/word.ts'
import { precompilesUnder } from '../index.ts'
import { callPrecompile } from '../precompile.ts'

// Each precompile with random and unusual inputs, against EthereumJS and noble. A quick run always has the same inputs.
// To repeat a run, set DEVIUM_PRECOMPILE_SEED=<number>. For more runs, set DEVIUM_PRECOMPILE_RUNS=<number>.

export const SEED = Number(process.env.DEVIUM_PRECOMPILE_SEED ?? (isFullRun ? randomInt(2 ** 31) : 1))
export const RUNS = Number(process.env.DEVIUM_PRECOMPILE_RUNS ?? (isFullRun ? 40 : 15))

/** Random numbers from a seed (mulberry32). */
export class Random {
  private state: number

  constructor(seed: number) {
    this.state = seed
  }

  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit)
  }

  chance(share: number): boolean {
    return this.below(1000) < share * 1000
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.below(256))
  }

  pick<T>(...values: readonly [T, ...T[]]): T {
    return values[this.below(values.length)] ?? values[0]
  }
}

/** JavaScript computes curves slowly, and a busy machine is slower. */
export const TIME_LIMIT_MS = 600_000

export type Run = (data: Uint8Array, gasLimit: bigint) => Promise<{ output: string; gasUsed: bigint; failed: boolean }>

export const GAS = 2n ** 40n
/** Gas limit: a damaged length or number of rounds would otherwise run. */
export const LITTLE_GAS = 2n ** 20n

async function references(hardfork: Hardfork): Promise<(number: number) => Run> {
  const evm = await createEVM({ common: new Common({ chain: Mainnet, hardfork }), bn254: new NobleBN254() })
  return (number) => async (data, gasLimit) => {
    const run = evm.precompiles.get(number.toString(16).padStart(40, '0'))
    if (run === undefined) throw new Error(`no precompile ${number}`)
    return shown(await run({ data, gasLimit, common: evm.common, _EVM: evm }))
  }
}

export function ours(fork: 'isthmus' | 'karst'): (number: number) => Run {
  const table = precompilesUnder(rulesAt({ forks: { [fork]: 0 } }, 0))
  return (number) => async (data, gasLimit) => {
    const precompile = table.get(wordToAddress(number))
    if (precompile === undefined) throw new Error(`no precompile ${number}`)
    const result = await callPrecompile(precompile, data, Number(gasLimit), async () => {})
    if (result === undefined) return { output: '0x', gasUsed: gasLimit, failed: true }
    return { output: toHex(result.output), gasUsed: BigInt(result.gasUsed), failed: false }
  }
}

function shown({
  returnValue,
  executionGasUsed,
  exceptionError,
}: {
  returnValue: Uint8Array
  executionGasUsed: bigint
  exceptionError?: unknown
}) {
  return { output: toHex(returnValue), gasUsed: executionGasUsed, failed: exceptionError !== undefined }
}

/** EthereumJS's. */
export const prague = await references(Hardfork.Prague)
export const osaka = await references(Hardfork.Osaka)

/** Counts the successful inputs: a test in which all are refused would show nothing. */
export async function compare(theirs: Run, mine: Run, inputs: Iterable<Uint8Array>, gasLimit = GAS): Promise<number> {
  let succeeded = 0
  for (const input of inputs) {
    const expected = await theirs(input, gasLimit)
    expect({ input: toHex(input), ...(await mine(input, gasLimit)) }).toEqual({ input: toHex(input), ...expected })
    if (!expected.failed && expected.output !== '0x') succeeded++
  }
  return succeeded
}

/** Mutations of any input: a changed bit, another length. */
function damaged(random: Random, input: Uint8Array): Uint8Array {
  const kind = random.below(4)
  if (kind === 0) return input.subarray(0, Math.max(0, input.length - 1 - random.below(40)))
  if (kind === 1) return concatBytes(input, random.bytes(1 + random.below(40)))
  if (input.length === 0) return input
  const at = random.below(input.length)
  return input.map((byte, index) => (index === at ? byte ^ (1 << random.below(8)) : byte))
}

export function* withDamage(random: Random, make: () => Uint8Array): Generator<Uint8Array> {
  for (let run = 0; run < RUNS; run++) {
    const input = make()
    yield input
    yield damaged(random, input)
  }
  yield EMPTY_BYTES
}

/** A scalar of 32 bytes: random ones, and those around 0 and the group's order. */
export function scalarOf(random: Random, order: bigint): Uint8Array {
  if (random.chance(0.5)) return random.bytes(32)
  const value = random.pick(0n, 1n, 2n, order - 1n, order, order + 1n, 2n * order, 2n ** 256n - 1n)
  return bigIntToBytes(value, 32)
}
