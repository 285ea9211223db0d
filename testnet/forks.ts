import { UsageError } from '../src/lib/errors.ts'
import { unknownName } from '../src/lib/nearest.ts'
import { FORKS, type Fork } from '../src/rollup/protocol/index.ts'

/**
 * Forks that a testnet can start with or activate. Delta is excluded: SystemConfig writes Ecotone's fee scalars, which older
 * rules read as a price of 2^248.
 */
export const TESTNET_FORKS = FORKS.filter(
  (fork): fork is TestnetFork => fork !== 'regolith' && fork !== 'canyon' && fork !== 'delta',
)
export type TestnetFork = Exclude<Fork, 'regolith' | 'canyon' | 'delta'>

/** The fork of OP Mainnet. */
export const DEFAULT_FORK: TestnetFork = 'karst'

/** Unix seconds of the activation; 0 if the genesis block has the fork. */
export type ForkTimes = Partial<Record<Fork, number>>

/** A fork to activate while the chain runs. */
export interface ForkActivation {
  fork: TestnetFork
  /** Seconds after the genesis block, or after the start that requests the fork. */
  seconds: number
}

/** Throws UsageError with the nearest name. */
export function parseFork(text: string): TestnetFork {
  const fork = TESTNET_FORKS.find((known) => known === text.toLowerCase())
  if (fork === undefined) throw new UsageError(unknownName('fork', text, TESTNET_FORKS))
  return fork
}

/** `isthmus:30,jovian:60`, in any order. Throws UsageError. */
export function parseForkActivations(text: string): ForkActivation[] {
  return parseActivations(text, parseFork, 'karst:60').sort((a, b) => indexOf(a.fork) - indexOf(b.fork))
}

/** Parses `<fork>:<seconds>` pairs separated by commas. Throws UsageError, as `parseName` does for an unknown fork. */
export function parseActivations<F>(
  text: string,
  parseName: (name: string) => F,
  example: string,
): { fork: F; seconds: number }[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts
    .filter((part) => part !== '')
    .map((part) => {
      const [, name, seconds] = /^([^:]+):(\d{1,9})$/.exec(part) ?? []
      if (name === undefined) throw new UsageError(`expected <fork>:<seconds>, for example ${example}, not "${part}"`)
      return { fork: parseName(name), seconds: Number(seconds) }
    })
}

/** The fork of a new chain's genesis block: the requested fork, or the fork before the first later activation. */
export function genesisFork(wanted: TestnetFork | undefined, activations: readonly ForkActivation[]): TestnetFork {
  const [first] = activations
  if (wanted !== undefined || first === undefined) return wanted ?? DEFAULT_FORK
  const before = TESTNET_FORKS[indexOf(first.fork) - 1]
  if (before === undefined) {
    throw new UsageError(`--fork-at ${first.fork}:${first.seconds}: a testnet cannot begin before ${first.fork}`)
  }
  return before
}

/** The times with this fork and all earlier forks active from the genesis block. */
export function forksAtGenesis(fork: TestnetFork): ForkTimes {
  return Object.fromEntries(FORKS.slice(0, FORKS.indexOf(fork) + 1).map((active) => [active, 0]))
}

/**
 * Adds forks to the times; `seconds` count from `startTime`. Throws UsageError if a fork is already set, is skipped, or does not
 * come after the fork before it.
 */
export function withActivations(
  times: ForkTimes,
  activations: readonly ForkActivation[],
  { startTime, blockTime }: { startTime: number; blockTime: number },
): ForkTimes {
  const all = { ...times }
  // Numbers of blocks after the start.
  const blockOf = (time: number) => Math.ceil((time - startTime) / blockTime)
  for (const { fork, seconds } of activations) {
    const flag = `--fork-at ${fork}:${seconds}`
    const fail = (message: string) => new UsageError(`${flag}: ${message}`)
    if (all[fork] === 0) throw fail(`the chain has ${fork} from its genesis block on; --fork names an earlier one`)
    if (all[fork] !== undefined) throw fail(`${fork} is given twice, or set in the kept chain already`)
    if (seconds === 0) throw fail(`that time is over; --fork ${fork} has it from the genesis block on`)
    const before = TESTNET_FORKS[indexOf(fork) - 1]
    const beforeTime = before === undefined ? undefined : all[before]
    if (before === undefined || beforeTime === undefined) {
      throw fail(
        `${before ?? 'another fork'} comes before it: give that an earlier time, --fork-at ${before}:<seconds>`,
      )
    }
    const time = startTime + seconds
    if (beforeTime !== 0 && blockOf(time) <= blockOf(beforeTime)) {
      throw fail(`${before} comes before it, in an earlier block: it is set to ${beforeTime - startTime} seconds`)
    }
    all[fork] = time
  }
  return all
}

/** The latest fork that is active at a time, and the next one. */
export function forksAround(times: ForkTimes, time: number): { active: Fork; next?: { fork: Fork; time: number } } {
  let active: Fork = 'regolith'
  for (const fork of FORKS) {
    const activation = times[fork]
    if (activation === undefined) continue
    if (activation > time) return { active, next: { fork, time: activation } }
    active = fork
  }
  return { active }
}

/** The fork's name, capitalised. */
export function forkName(fork: Fork): string {
  return `${fork.slice(0, 1).toUpperCase()}${fork.slice(1)}`
}

function indexOf(fork: TestnetFork): number {
  return TESTNET_FORKS.indexOf(fork)
}
