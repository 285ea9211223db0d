import { DeviumError } from '../../../lib/errors.ts'
import type { RollupConfig, UnknownFork } from '../types.ts'

type Forks = Pick<RollupConfig, 'unknownForks'>

/** Forks that the chain schedules and whose rules this version does not have, the earliest first. */
export function unknownForks(config: Forks): UnknownFork[] {
  return [...(config.unknownForks ?? [])].sort((a, b) => a.time - b.time)
}

/** The first of them that a block of this time is under. */
export function unknownForkAt(config: Forks, l2Time: number): UnknownFork | undefined {
  return unknownForks(config).find(({ time }) => l2Time >= time)
}

/**
 * Throws DeviumError (`fork-unknown`, temporary) for a block under the rules of a fork that this version does not know: going on
 * would lead to another chain. The node stays up to say so.
 */
export function checkForksKnown(config: Forks, l2Time: number): void {
  const fork = unknownForkAt(config, l2Time)
  if (fork === undefined) return
  throw new DeviumError(
    'fork-unknown',
    `this version does not know the fork ${fork.name}, active from ${fork.time} on`,
    {
      severity: 'temporary',
      details: { fork: fork.name, time: fork.time, l2Time },
    },
  )
}
