import { type HealthReport, type HealthState, isTrouble } from '../base/healthReport.ts'
import type { HealthLimits } from '../base/options.ts'

export type HealthFacts = Omit<HealthReport, 'state' | 'ok' | 'sinceMs' | 'text' | 'otherChains'> & {
  nowMs: number
  startedMs: number
  /** Blocks accepted from gossip within `silentMs`. */
  flow: number
  /**
   * Blocks refused without an accepted block since. They count as long as the sender of the last one is connected;
   * otherwise only within `silentMs`.
   */
  refusals: number
}

/** Blocks that must arrive before a trouble state ends. A single block does not prove that gossip works again. */
const RECOVERY_BLOCKS = 3
/** Trouble states that end with the first block: blocks arrive by L1 anyway (`l1-only`), or no node has any (`chain-stands-still`). */
const CHANGES_AT_ONCE: ReadonlySet<HealthState> = new Set(['l1-only', 'chain-stands-still'])
/** This many refused blocks make a state. A single one may be an accident. */
const MIN_REFUSALS = 2
/** This many advances by L1 alone, while blocks arrive by gossip, make a state. */
const MIN_L1_MOVES = 3

/** `previous` is the state until now: recovery takes more evidence than staying healthy. */
export function assessHealth(facts: HealthFacts, previous: HealthState, limits: HealthLimits): HealthState {
  const { nowMs, lastMoves, staticPeers } = facts
  const made = lastMoves.sequencer
  // A time in the future is from before the clock was set back.
  if (made !== null && made.atMs <= nowMs && nowMs - made.atMs < limits.silentMs) return 'sequencing'
  const needed = isTrouble(previous) && !CHANGES_AT_ONCE.has(previous) ? RECOVERY_BLOCKS : 1
  if (facts.flow >= needed) return flowing(facts, limits)
  // Where blocks arrive, dials and the mesh are complete, so the grace time does not apply.
  if (facts.connected > 0 && facts.refusals >= MIN_REFUSALS) return 'blocks-rejected'
  if (facts.lastBlock === null && nowMs - facts.startedMs < limits.graceMs) return 'starting'

  const staticsDown = staticPeers.length > 0 && staticPeers.every(({ connected }) => !connected)
  if (facts.connected === 0) return staticsDown ? 'static-peers-down' : 'no-peers'
  // Silence on L1 proves little here: the other connected peers may be cut off too.
  if (staticsDown) return 'static-peers-down'
  if (facts.subscribers === 0) return 'no-subscriber'
  // Peers of a stopped chain have nothing to send, and op-nodes of 2024 then leave the mesh.
  if (facts.recent.headMoves.l1 === 0) return 'chain-stands-still'
  return facts.mesh === 0 ? 'no-mesh' : 'gossip-silent'
}

function flowing({ nowMs, l1Only, lastBlock, head }: HealthFacts, limits: HealthLimits): HealthState {
  const isL1Only = l1Only.count >= MIN_L1_MOVES && l1Only.sinceMs !== null && nowMs - l1Only.sinceMs >= limits.silentMs
  if (!isL1Only) return 'ok'
  return lastBlock !== null && head !== null && lastBlock.number > head.number + 1 ? 'catching-up' : 'l1-only'
}
