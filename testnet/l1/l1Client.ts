import { resolve } from 'node:path'
import { UsageError } from '../../src/lib/errors.ts'
import { unknownName } from '../../src/lib/nearest.ts'
import type { L1Parameters } from '../chainParameters.ts'
import { parseActivations } from '../forks.ts'

/** The L1 program: Anvil, or the go-ethereum at a path. */
export type L1Client = 'anvil' | { geth: string }

/** `anvil` or `geth=<path>`. Throws UsageError. */
export function parseL1Client(text: string): L1Client {
  if (text === 'anvil') return 'anvil'
  const path = /^geth=(.+)$/.exec(text)?.[1]
  if (path === undefined) throw new UsageError('expected anvil, or geth=<path of the go-ethereum binary>')
  return { geth: resolve(path) }
}

/** The fork that an L1 can activate while it runs. It has all earlier forks from genesis. */
export const L1_FORKS = ['amsterdam'] as const
export type L1Fork = (typeof L1_FORKS)[number]

export interface L1ForkActivation {
  fork: L1Fork
  /** Seconds after the start that requests the fork. */
  seconds: number
}

/** `amsterdam:60`. Throws UsageError. */
export function parseL1ForkActivations(text: string): L1ForkActivation[] {
  const activations = parseActivations(text, parseL1Fork, 'amsterdam:60')
  const [first, second] = activations
  if (second !== undefined) throw new UsageError(`${second.fork} is given twice`)
  // Block 1 holds the deployment, which uses the gas costs before the fork.
  if (first?.seconds === 0) {
    throw new UsageError(`${first.fork}:0: the first L1 block comes before ${first.fork}, give at least 1`)
  }
  return activations
}

function parseL1Fork(name: string): L1Fork {
  const fork = L1_FORKS.find((known) => known === name.toLowerCase())
  if (fork === undefined) throw new UsageError(unknownName('fork of L1', name, L1_FORKS))
  return fork
}

/** Throws UsageError if Anvil cannot do what is requested. */
export function checkL1Forks(client: L1Client, activations: readonly L1ForkActivation[]): void {
  const [first] = activations
  if (client !== 'anvil' || first === undefined) return
  throw new UsageError(
    `--l1-fork-at ${first.fork}:${first.seconds}: Anvil has no ${first.fork}, add --l1-client geth=<path>`,
  )
}

/** The parameters of a new chain's L1; undefined for Anvil. */
export function l1Parameters(
  client: L1Client,
  activations: readonly L1ForkActivation[],
  startTime: number,
): L1Parameters | undefined {
  if (client === 'anvil') return undefined
  const [amsterdam] = activations
  return { client: 'geth', ...(amsterdam === undefined ? {} : { amsterdamTime: startTime + amsterdam.seconds }) }
}
