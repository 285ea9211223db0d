import { FORKS, type Fork, MISSING_BUNDLE_TEXT, type RollupConfig, unknownForks } from '../protocol/index.ts'
import type { EngineForkVerdict } from './forkWatch.ts'

export interface NextFork {
  name: string
  /** Unix seconds. */
  time: number
  /** Undefined: it cannot be seen. */
  isReady: boolean | undefined
  /** Why the node is not ready, as a sentence without its full stop. */
  problem: string | undefined
}

/** The fork that the chain runs, and the next one. */
export interface ForkOutlook {
  active: Fork | 'bedrock'
  next: NextFork | undefined
}

export interface ForkOutlookFacts {
  config: Pick<RollupConfig, 'forks' | 'unknownForks' | 'lagoonBundle'>
  /** Time of the last block. */
  l2Time: number
  /** Whether another node's blocks are taken over: nothing is built. */
  follows: boolean
  /** The engine's verdict on a fork ahead; undefined: it was not asked. */
  engine: ((fork: { name: Fork; time: number }) => EngineForkVerdict | undefined) | undefined
}

/** A pure function of the facts. Forks of the config count, and those that this version does not know. */
export function forkOutlook({ config, l2Time, follows, engine }: ForkOutlookFacts): ForkOutlook {
  const timeOf = (fork: Fork) => config.forks[fork] ?? Number.POSITIVE_INFINITY
  const active = FORKS.findLast((fork) => timeOf(fork) <= l2Time) ?? 'bedrock'
  const known = FORKS.filter((fork) => Number.isFinite(timeOf(fork))).map((name) => ({ name, time: timeOf(name) }))
  const isAhead = ({ time }: { time: number }) => time > l2Time
  const [next] = known.filter(isAhead).sort((a, b) => a.time - b.time)
  const [unknown] = unknownForks(config).filter(isAhead)
  if (unknown !== undefined && (next === undefined || unknown.time < next.time)) {
    const problem = `This version does not know the fork ${unknown.name}`
    return { active, next: { ...unknown, isReady: false, problem } }
  }
  if (next === undefined) return { active, next }
  if (next.name === 'lagoon' && config.lagoonBundle === undefined && !follows) {
    return { active, next: { ...next, isReady: false, problem: MISSING_BUNDLE_TEXT } }
  }
  return { active, next: { ...next, ...(engine?.(next) ?? { isReady: undefined, problem: undefined }) } }
}
