import { FORKS, type Fork, MISSING_BUNDLE_TEXT, type RollupConfig, unknownForks } from '../protocol/index.ts'
import type { EngineForkVerdict } from './forkWatch.ts'

export interface NextFork {
  name: string
  /** Unix seconds. */
  time: number
  /** Undefined: unknown. */
  isReady: boolean | undefined
  /** Why the node is not ready: a sentence without its full stop. */
  problem: string | undefined
}

/** The active fork and the next fork. */
export interface ForkOutlook {
  active: Fork | 'bedrock'
  next: NextFork | undefined
}

export interface ForkOutlookFacts {
  config: Pick<RollupConfig, 'forks' | 'unknownForks' | 'lagoonBundle'>
  /** Timestamp of the last block. */
  l2Time: number
  /** Whether the node follows another node and builds nothing. */
  follows: boolean
  /** Whether the engine is ready for a future fork; undefined: not checked. */
  engine: ((fork: { name: Fork; time: number }) => EngineForkVerdict | undefined) | undefined
}

/** A pure function. Considers the forks in the config, including forks that this version does not know. */
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
