import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { type HealthReport, type HealthState, isTrouble } from '../base/healthReport.ts'
import type { MonitorLimits } from '../base/options.ts'
import { assessHealth, type HealthFacts } from './assessHealth.ts'
import { type HealthRecord, RECENT_MS } from './healthRecord.ts'
import { healthText } from './healthText.ts'

export interface HealthMonitorModules {
  clock: Clock
  logger: Logger
  record: HealthRecord
  connected(): readonly string[]
  /** State of the topic that carries blocks now. */
  gossip(): { topic: string; subscribers: number; mesh: number }
  bans(): { peerID: string; reason: string }[]
  /** Chains that the peer serves blocks of, as far as known. */
  chainsOf(peerId: string): Promise<string[]>
}

/** Without a block for 30 s or 15 block times, the node is not following by gossip. */
const SILENT_MS = 30_000
const SILENT_BLOCKS = 15
/** Time after the start for dials, handshakes, discovery and the mesh. */
const GRACE_MS = 60_000
const INTERVAL_MS = 5_000
/** A trouble must persist for this long before it is reported. A reconnecting peer passes through several states. */
const CONFIRM_MS = 10_000
const CONFIRM_BLOCKS = 4
/** A report checks at most this many peers for their chains. */
const MAX_QUERIED = 16

/** Limits that fit the chain's block time. `given` overrides them. */
export function healthLimits(blockTimeMs: number, given: Partial<MonitorLimits> = {}): MonitorLimits {
  const silentMs = Math.max(SILENT_MS, SILENT_BLOCKS * blockTimeMs)
  const confirmMs = Math.max(CONFIRM_MS, CONFIRM_BLOCKS * blockTimeMs)
  return { silentMs, graceMs: Math.max(GRACE_MS, silentMs), confirmMs, intervalMs: INTERVAL_MS, ...given }
}

/** Decides whether blocks arrive by gossip, and why not. */
export type HealthMonitor = ReturnType<typeof createHealthMonitor>

export function createHealthMonitor(modules: HealthMonitorModules, limits: MonitorLimits) {
  const { clock, logger, record } = modules
  let startedMs = clock.now()
  let state: HealthState = 'starting'
  let sinceMs = startedMs
  let candidate: { state: HealthState; sinceMs: number } | undefined
  let cancel: (() => void) | undefined

  const reported = () => ({ ...modules.gossip(), ...record.facts(), connected: modules.connected().length })
  const facts = (): HealthFacts => {
    const nowMs = clock.now()
    startedMs = Math.min(startedMs, nowMs)
    const silentSinceMs = nowMs - limits.silentMs
    return {
      ...reported(),
      nowMs,
      startedMs,
      flow: record.acceptedSince(silentSinceMs),
      refusals: record.refusedSince(isStillRefused(nowMs) ? (record.lastBlock()?.atMs ?? 0) : silentSinceMs),
    }
  }
  /**
   * After a few refused blocks the sender is graylisted and its messages are dropped unread. The refused blocks remain
   * the cause.
   */
  const isStillRefused = (nowMs: number): boolean => {
    const refused = record.lastRefused()
    if (refused === null || refused.atMs > nowMs || nowMs - refused.atMs > RECENT_MS) return false
    return modules.connected().includes(refused.peerID)
  }
  const otherChains = async (): Promise<HealthReport['otherChains']> => {
    if (state !== 'no-subscriber') return []
    const queried = modules.connected().slice(0, MAX_QUERIED)
    return Promise.all(queried.map(async (peerID) => ({ peerID, chainIDs: await modules.chainsOf(peerID) })))
  }
  const report = async (): Promise<HealthReport> => {
    const chains = { otherChains: await otherChains() }
    const troubleMs = limits.silentMs + limits.confirmMs
    const text = healthText(state, { ...facts(), ...chains, bans: modules.bans(), troubleMs })
    return { state, ok: !isTrouble(state), sinceMs, text, ...reported(), ...chains }
  }

  const assess = (): void => {
    const next = assessHealth(facts(), state, limits)
    if (next === state) {
      candidate = undefined
      return
    }
    // A time in the future: the clock was set back.
    if (candidate?.state !== next || candidate.sinceMs > clock.now()) candidate = { state: next, sinceMs: clock.now() }
    if (isTrouble(next) && clock.now() - candidate.sinceMs < limits.confirmMs) return
    const before = { state, sinceMs }
    state = next
    sinceMs = candidate.sinceMs
    candidate = undefined
    logChange(before).catch((error: unknown) => logger.error('Reporting health failed', { err: describeError(error) }))
  }
  const logChange = async (before: { state: HealthState; sinceMs: number }): Promise<void> => {
    const { state: now, text } = await report()
    // The operator reads the node's verdict, so this is a debug line only.
    const afterSeconds = Math.round((sinceMs - before.sinceMs) / 1000)
    logger.debug('Gossip health changed', { state: now, before: before.state, why: text, afterSeconds })
  }
  const tick = (): void => {
    assess()
    cancel = clock.setTimeout(tick, limits.intervalMs)
  }
  return {
    start(): void {
      startedMs = clock.now()
      sinceMs = startedMs
      cancel = clock.setTimeout(tick, limits.intervalMs)
    },
    stop: (): void => cancel?.(),
    state: (): HealthState => state,
    report,
  }
}
