import { FORKS, type Fork, unknownForks } from '../../../rollup/protocol/index.ts'
import type { BeaconFacts, ChainFacts, DoctorFacts, L1Facts, NamedTime } from './facts.ts'

/** A fork of the chain, or of its L1. */
export interface ScheduledFork {
  layer: 'L1' | 'L2'
  name: string
  /** Undefined: the date is unknown. */
  time: number | undefined
  isActive: boolean
  isKnown: boolean
}

/** The newest L1 fork that this version supports. */
export const NEWEST_L1_FORK = 'glamsterdam'
/** The fork's time on public L1s, where it is known. Sepolia's time is from its network config. */
const GLAMSTERDAM_TIMES = new Map([[11_155_111n, 1_791_294_816]])
/** Names of that fork in an L1 chain config and in a beacon spec. */
const GLAMSTERDAM_NAMES: readonly string[] = ['amsterdam', 'gloas', NEWEST_L1_FORK]
/** Earlier forks by both kinds of names, and retired forks. Blob parameters are checked separately. */
const EARLIER_L1_FORKS: ReadonlySet<string> = new Set([
  ...['shanghai', 'cancun', 'prague', 'osaka', 'verkle', 'bpo1', 'bpo2', 'bpo3', 'bpo4', 'bpo5'],
  ...['altair', 'bellatrix', 'capella', 'deneb', 'electra', 'fulu'],
])

/** Forks of L2 by their times, then forks of L1. */
export function scheduleOf(facts: DoctorFacts): ScheduledFork[] {
  return [...l2Forks(facts.chain, facts.nowS), ...l1Forks(facts)]
}

function scheduledForks(forks: ChainFacts['config']['forks']): { fork: Fork; time: number }[] {
  return FORKS.flatMap((fork) => {
    const time = forks[fork]
    return time === undefined ? [] : [{ fork, time }]
  })
}

function l2Forks({ config }: ChainFacts, nowS: number): ScheduledFork[] {
  const known = scheduledForks(config.forks).map(({ fork, time }) => ({ name: fork, time }))
  const row = ({ name, time }: NamedTime, isKnown: boolean): ScheduledFork => {
    return { layer: 'L2', name, time, isActive: time <= nowS, isKnown }
  }
  return [...known.map((fork) => row(fork, true)), ...unknownForks(config).map((fork) => row(fork, false))]
}

function l1Forks({ chain, l1, beacon, nowS }: DoctorFacts): ScheduledFork[] {
  const announced = [...chain.l1Forks, ...(beacon?.forks ?? [])]
  const time = glamsterdamTime(chain, beacon, l1)
  const isActive = l1.some(({ head }) => head?.isGlamsterdam === true) || (time !== undefined && time <= nowS)
  const later = announced.filter(({ name }) => !EARLIER_L1_FORKS.has(name) && !GLAMSTERDAM_NAMES.includes(name))
  return [
    { layer: 'L1', name: NEWEST_L1_FORK, time, isActive, isKnown: true },
    ...[...new Map(later.map((fork) => [fork.name, fork])).values()].map(({ name, time: at }): ScheduledFork => {
      return { layer: 'L1', name, time: at, isActive: at <= nowS, isKnown: false }
    }),
  ]
}

function glamsterdamTime(chain: ChainFacts, beacon: BeaconFacts | undefined, l1: readonly L1Facts[]) {
  const announced = [...chain.l1Forks, ...(beacon?.forks ?? [])].find(({ name }) => GLAMSTERDAM_NAMES.includes(name))
  const known = GLAMSTERDAM_TIMES.get(chain.config.l1ChainId) ?? announced?.time
  if (known !== undefined) return known
  // If L1 runs the fork without announcing its time, the fork began at the latest with the fork that L1 reports as current.
  return l1.find(({ head }) => head?.isGlamsterdam === true)?.current?.time
}

/** The newest active fork and all scheduled forks: an engine must support them. */
export function forksToCheck(forks: ChainFacts['config']['forks'], nowS: number): { fork: Fork; time: number }[] {
  const scheduled = scheduledForks(forks)
  const newest = scheduled.findLastIndex(({ time }) => time <= nowS)
  return scheduled.slice(Math.max(newest, 0))
}
