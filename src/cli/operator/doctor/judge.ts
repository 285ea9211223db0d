import { FORKS, type Fork } from '../../../rollup/protocol/index.ts'
import { judgeBeacon } from './beaconRules.ts'
import { judgeChain } from './chainRules.ts'
import { isEngineReady, judgeEngine } from './engineRules.ts'
import type { DoctorFacts } from './facts.ts'
import { type Finding, type Subject, worstFirst } from './finding.ts'
import { judgeFollowed } from './followRules.ts'
import { judgeL1 } from './l1Rules.ts'
import { NEWEST_L1_FORK, type ScheduledFork, scheduleOf } from './schedule.ts'

export type Readiness = 'yes' | 'no' | 'unknown'
/** The parts of the setup that must support a fork. */
export type ForkSubject = 'version' | 'engine' | 'L1' | 'beacon'

/** A fork, and which parts are ready for it. Parts that need not support the fork are absent. */
export interface JudgedFork extends ScheduledFork {
  ready: Partial<Record<ForkSubject, Readiness>>
}

export interface Diagnosis {
  /** Nothing known stops the node. */
  ok: boolean
  forks: JudgedFork[]
  /** Worst first. */
  findings: Finding[]
}

/** Determines from the facts whether and when this node stops. A pure function. */
export function diagnose(facts: DoctorFacts): Diagnosis {
  const findings = worstFirst([
    ...judgeChain(facts),
    ...judgeEngine(facts),
    ...judgeL1(facts),
    ...judgeBeacon(facts),
    ...judgeFollowed(facts),
  ])
  const forks = scheduleOf(facts).map((fork) => ({ ...fork, ready: readinessOf(fork, facts, findings) }))
  return { ok: findings.every(({ stops }) => stops === null), forks, findings }
}

function readinessOf(fork: ScheduledFork, facts: DoctorFacts, findings: readonly Finding[]): JudgedFork['ready'] {
  const isAgainst = (subject: Subject) =>
    findings.some((finding) => finding.subject === subject && finding.fork === fork.name && finding.stops !== null)
  const answer = (subject: ForkSubject, isReady: boolean | undefined): Readiness => {
    if (isAgainst(subject) || isReady === false) return 'no'
    return isReady === true ? 'yes' : 'unknown'
  }
  const version = answer('version', fork.isKnown)
  if (fork.layer === 'L2') {
    const known = FORKS.find((name): name is Fork => name === fork.name)
    const isReady = known === undefined || fork.time === undefined ? undefined : isEngineReady(facts, known, fork.time)
    return { version, engine: answer('engine', isReady) }
  }
  // L1 and the beacon API need not support a fork without date.
  if (fork.time === undefined && !fork.isActive) return { version }
  return { version, L1: answer('L1', isL1Ready(fork, facts)), beacon: answer('beacon', isBeaconReady(fork, facts)) }
}

function isL1Ready({ name, time }: ScheduledFork, { l1 }: DoctorFacts): boolean | undefined {
  if (name !== NEWEST_L1_FORK) return undefined
  const isThere = l1.some(
    ({ head, next }) => head?.isGlamsterdam === true || (time !== undefined && next?.time === time),
  )
  return isThere ? true : undefined
}

function isBeaconReady({ time }: ScheduledFork, { beacon }: DoctorFacts): boolean | undefined {
  if (beacon?.problem !== undefined || time === undefined) return undefined
  return beacon?.forks.some((fork) => fork.time === time) === true ? true : undefined
}
