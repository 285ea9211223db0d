import { type HealthReport, type HealthState, isTrouble } from '../base/healthReport.ts'
import type { HealthLimits } from '../base/options.ts'

/** What the state is judged from. */
export type HealthFacts = Omit<HealthReport, 'state' | 'ok' | 'sinceMs' | 'text' | 'otherChains'> & {
  nowMs: number
  /** Unix milliseconds of the node's start. */
  startedMs: number
  /** Blocks accepted from gossip within `silentMs`. */
  flow: number
  /** Blocks refused, and none accepted since, as long as whoever sent the last of them is connected; else within `silentMs`. */
  refusals: number
}

/** Blocks that must come before trouble counts as over: one may be an echo. */
const RECOVERY_BLOCKS = 3
/** Troubles in which an echo is no sign: blocks come anyway, or nobody has any. */
const CHANGES_AT_ONCE: ReadonlySet<HealthState> = new Set(['l1-only', 'chain-stands-still'])
/** Refused blocks that make a state: one may be an accident. */
const MIN_REFUSALS = 2
/** Advances through L1 alone, while blocks come, that make a state. */
const MIN_L1_MOVES = 3

/** `previous` is the state until now: getting well takes more than staying well. */
export function assessHealth(facts: HealthFacts, previous: HealthState, limits: HealthLimits): HealthState {
  const { nowMs, lastMoves, staticPeers } = facts
  const made = lastMoves.sequencer
  // One of time to come was made before the clock was set back.
  if (made !== null && made.atMs <= nowMs && nowMs - made.atMs < limits.silentMs) return 'sequencing'
  const needed = isTrouble(previous) && !CHANGES_AT_ONCE.has(previous) ? RECOVERY_BLOCKS : 1
  if (facts.flow >= needed) return flowing(facts, limits)
  // Dials and the mesh, which take their time after a start, are over where blocks come.
  if (facts.connected > 0 && facts.refusals >= MIN_REFUSALS) return 'blocks-rejected'
  if (facts.lastBlock === null && nowMs - facts.startedMs < limits.graceMs) return 'starting'

  const staticsDown = staticPeers.length > 0 && staticPeers.every(({ connected }) => !connected)
  if (facts.connected === 0) return staticsDown ? 'static-peers-down' : 'no-peers'
  // That nothing comes through L1 either says little of the chain then: who else is connected may be cut off as well.
  if (staticsDown) return 'static-peers-down'
  if (facts.subscribers === 0) return 'no-subscriber'
  // Peers that stand still with the chain have nothing to send; op-nodes of 2024 leave the mesh then.
  if (facts.recent.headMoves.l1 === 0) return 'chain-stands-still'
  return facts.mesh === 0 ? 'no-mesh' : 'gossip-silent'
}

function flowing({ nowMs, l1Only, lastBlock, head }: HealthFacts, limits: HealthLimits): HealthState {
  const isL1Only = l1Only.count >= MIN_L1_MOVES && l1Only.sinceMs !== null && nowMs - l1Only.sinceMs >= limits.silentMs
  if (!isL1Only) return 'ok'
  return lastBlock !== null && head !== null && lastBlock.number > head.number + 1 ? 'catching-up' : 'l1-only'
}
