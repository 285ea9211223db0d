import { DeviumError } from '../../../lib/errors.ts'
import type { RollupConfig, UnknownFork } from '../types.ts'

type Forks = Pick<RollupConfig, 'unknownForks'>

/** Scheduled forks whose rules this version does not have, the earliest first. */
export function unknownForks(config: Forks): UnknownFork[] {
  return [...(config.unknownForks ?? [])].sort((a, b) => a.time - b.time)
}

/** The first unknown fork that is active at this time. */
export function unknownForkAt(config: Forks, l2Time: number): UnknownFork | undefined {
  return unknownForks(config).find(({ time }) => l2Time >= time)
}

/**
 * Throws DeviumError (`fork-unknown`, temporary) for a block under an unknown fork: continuing would lead to a
 * different chain. The node keeps running to report this.
 */
export function checkForksKnown(config: Forks, l2Time: number): void {
  const fork = unknownForkAt(config, l2Time)
  if (fork === undefined) return
  throw new DeviumError(
    'fork-unknown',
    `this version does not know the fork ${fork.name}, which is active since ${fork.time}: upgrade devium`,
    {
      severity: 'temporary',
      details: { fork: fork.name, time: fork.time, l2Time },
    },
  )
}
