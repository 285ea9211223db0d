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
  /** Of the topic that carries blocks now. */
  gossip(): { topic: string; subscribers: number; mesh: number }
  /** Bans of peers that stand. */
  bans(): { peerID: string; reason: string }[]
  /** Chains whose blocks a peer serves, as far as is known. */
  chainsOf(peerId: string): Promise<string[]>
}

/** A node that lacks blocks for half a minute, or for 15 of them, is not following by gossip. */
const SILENT_MS = 30_000
const SILENT_BLOCKS = 15
/** Dials, handshakes, discovery and the mesh take their time after a start. */
const GRACE_MS = 60_000
const INTERVAL_MS = 5_000
/** So long another state must hold before it is told: a peer that comes back passes through several. */
const CONFIRM_MS = 10_000
const CONFIRM_BLOCKS = 4
/** Peers that are asked for their chains in a report. */
const MAX_ASKED = 16

/** What fits the chain, as far as nothing else is given. */
export function healthLimits(blockTimeMs: number, given: Partial<MonitorLimits> = {}): MonitorLimits {
  const silentMs = Math.max(SILENT_MS, SILENT_BLOCKS * blockTimeMs)
  const confirmMs = Math.max(CONFIRM_MS, CONFIRM_BLOCKS * blockTimeMs)
  return { silentMs, graceMs: Math.max(GRACE_MS, silentMs), confirmMs, intervalMs: INTERVAL_MS, ...given }
}

/** Knows whether blocks come by gossip, and why not. */
export type HealthMonitor = ReturnType<typeof createHealthMonitor>

export function createHealthMonitor(modules: HealthMonitorModules, limits: MonitorLimits) {
  const { clock, logger, record } = modules
  let startedMs = clock.now()
  let state: HealthState = 'starting'
  let sinceMs = startedMs
  let candidate: { state: HealthState; sinceMs: number } | undefined
  let cancel: (() => void) | undefined

  const told = () => ({ ...modules.gossip(), ...record.facts(), connected: modules.connected().length })
  const facts = (): HealthFacts => {
    const nowMs = clock.now()
    startedMs = Math.min(startedMs, nowMs)
    const silentSinceMs = nowMs - limits.silentMs
    return {
      ...told(),
      nowMs,
      startedMs,
      flow: record.acceptedSince(silentSinceMs),
      refusals: record.refusedSince(isStillRefused(nowMs) ? (record.lastBlock()?.atMs ?? 0) : silentSinceMs),
    }
  }
  /** After the first few refused blocks, what their sender gossips is dropped unread for a time: they stay what is the matter. */
  const isStillRefused = (nowMs: number): boolean => {
    const refused = record.lastRefused()
    if (refused === null || refused.atMs > nowMs || nowMs - refused.atMs > RECENT_MS) return false
    return modules.connected().includes(refused.peerID)
  }
  const otherChains = async (): Promise<HealthReport['otherChains']> => {
    if (state !== 'no-subscriber') return []
    const asked = modules.connected().slice(0, MAX_ASKED)
    return Promise.all(asked.map(async (peerID) => ({ peerID, chainIDs: await modules.chainsOf(peerID) })))
  }
  const report = async (): Promise<HealthReport> => {
    const chains = { otherChains: await otherChains() }
    const troubleMs = limits.silentMs + limits.confirmMs
    const text = healthText(state, { ...facts(), ...chains, bans: modules.bans(), troubleMs })
    return { state, ok: !isTrouble(state), sinceMs, text, ...told(), ...chains }
  }

  const judge = (): void => {
    const next = assessHealth(facts(), state, limits)
    if (next === state) {
      candidate = undefined
      return
    }
    // One of time to come: the clock was set back.
    if (candidate?.state !== next || candidate.sinceMs > clock.now()) candidate = { state: next, sinceMs: clock.now() }
    if (isTrouble(next) && clock.now() - candidate.sinceMs < limits.confirmMs) return
    const before = { state, sinceMs }
    state = next
    sinceMs = candidate.sinceMs
    candidate = undefined
    tell(before).catch((error: unknown) => logger.error('Health not told', { err: describeError(error) }))
  }
  const tell = async (before: { state: HealthState; sinceMs: number }): Promise<void> => {
    const { state: now, text } = await report()
    // The node's verdict is what its operator is told.
    const afterSeconds = Math.round((sinceMs - before.sinceMs) / 1000)
    logger.debug('Gossip has changed', { state: now, before: before.state, why: text, afterSeconds })
  }
  const tick = (): void => {
    judge()
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
