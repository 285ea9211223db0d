import { type Clock, sleep } from '../../../lib/clock.ts'
import { describeError } from '../../../lib/errors.ts'
import type { Logger } from '../../../lib/logger.ts'
import type { HealthReport } from '../../../p2p/index.ts'
import type { HeadsMovedBy } from '../../engine/index.ts'
import type { L2BlockRef } from '../../protocol/types.ts'
import type { SequencerStatus } from '../../sequencer/index.ts'
import type { DerivationStatus } from '../derivationStatus.ts'
import type { BatcherReport } from './batcherWatch.ts'
import { type Cause, GRACE_MS, type HealthFacts, type LastBlock } from './facts.ts'
import { judge, VERDICT_STATES, type VerdictState, verdictText } from './verdict.ts'

/** The health of the node, with causes. */
export interface NodeHealth {
  state: VerdictState
  /** Unix time in milliseconds since when the state holds. */
  sinceMs: number
  /** One or two sentences: the state and its first cause. */
  text: string
  causes: Cause[]
  role: 'sequencer' | 'verifier'
  /** The operator's name for the node; undefined if it has none. */
  name: string | undefined
  derivation: Pick<DerivationStatus, 'state' | 'ok' | 'text'>
  /** Undefined if the node's flags disable peers. */
  gossip: Pick<HealthReport, 'state' | 'ok' | 'text'> | undefined
}

export interface HealthModules {
  head(): L2BlockRef | undefined
  derivation(): DerivationStatus
  /** Undefined on a verifier. */
  sequencer(): SequencerStatus | undefined
  /** Undefined with `--p2p.disable`. */
  gossip: (() => Promise<HealthReport>) | undefined
  batcher(): BatcherReport | undefined
  clock: Clock
  logger: Logger
}

export interface HealthOptions {
  blockTimeS: number
  name?: string | undefined
}

/** Interval between checks for the log. */
const CHECK_INTERVAL_MS = 2_000
/** Minimum time before a verdict is logged: a peer that reconnects or a slow block needs no line. */
const HOLD_MS = 5_000
const HOLD_BLOCKS = 4
/** The window for measuring the speed of a node that catches up. */
const SPEED_MS = 60_000
const MIN_SPEED_S = 2
/** States that are normal during a start. */
const STARTUP_CODES: ReadonlySet<string> = new Set(['starting', 'catching-up', 'engine-syncing'])
const FROM = { payload: 'peers', derivation: 'l1', sequencer: 'sequencer' } as const

interface LoggedVerdict {
  state: VerdictState
  codes: string[]
}

/** Computes the node's health, and logs one line whenever it changes. */
export class HealthWatch {
  private readonly modules: HealthModules
  private readonly options: HealthOptions
  private readonly startedMs: number
  private readonly holdMs: number
  private lastBlock: LastBlock | undefined
  private publishProblem: string | undefined
  private hadPeers = false
  /** Heights in the last minute, oldest first. */
  private heights: { atMs: number; number: number }[] = []
  private now: { state: VerdictState; sinceMs: number } | undefined
  private candidate: { key: string; sinceMs: number } | undefined
  private logged: LoggedVerdict | undefined

  constructor(modules: HealthModules, options: HealthOptions) {
    this.modules = modules
    this.options = options
    this.startedMs = modules.clock.now()
    this.holdMs = Math.max(HOLD_MS, HOLD_BLOCKS * options.blockTimeS * 1000)
  }

  /** For a metric: 1 for the state of the last check. */
  states(): Record<VerdictState, number> {
    const is = (state: VerdictState): number => (this.now?.state === state ? 1 : 0)
    return { healthy: is('healthy'), degraded: is('degraded'), stopped: is('stopped') }
  }

  headMoved({ number }: Pick<L2BlockRef, 'number'>, movedBy: HeadsMovedBy): void {
    // Ignores heads that a start or a reset found, and blocks that replace others.
    if (movedBy === 'reset' || number <= (this.lastBlock?.number ?? -1)) return
    this.lastBlock = { number, atMs: this.modules.clock.now(), from: FROM[movedBy] }
  }

  /** `error`: undefined if the block was published. */
  published(error?: unknown): void {
    this.publishProblem = error === undefined ? undefined : describeError(error)
  }

  async read(): Promise<NodeHealth> {
    const gossip = await this.modules.gossip?.()
    const facts = this.facts(gossip)
    const verdict = judge(facts)
    const { name } = this.options
    const role = facts.sequencer === undefined ? 'verifier' : 'sequencer'
    const sinceMs = Math.min(facts.nowMs, verdict.causes[0]?.sinceMs ?? facts.nowMs)
    if (this.now?.state !== verdict.state) this.now = { state: verdict.state, sinceMs }
    const { state, ok, text } = facts.derivation
    return {
      ...verdict,
      sinceMs: this.now.sinceMs,
      text: verdictText(name ?? role, verdict, facts),
      ...{ role, name, gossip, derivation: { state, ok, text } },
    }
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.modules
    while (!signal.aborted) {
      await sleep(clock, CHECK_INTERVAL_MS, signal).catch(() => undefined)
      if (signal.aborted) return
      await this.check().catch((error: unknown) =>
        logger.error('Could not read the health', { err: describeError(error) }),
      )
    }
  }

  private facts(gossip: HealthReport | undefined): HealthFacts {
    const { head, derivation, sequencer, batcher, clock } = this.modules
    const unsafe = head()
    const sequencing = sequencer()
    const status = derivation()
    this.hadPeers ||= (gossip?.connected ?? 0) > 0
    return {
      nowMs: clock.now(),
      startedMs: this.startedMs,
      blockTimeMs: this.options.blockTimeS * 1000,
      head: unsafe === undefined ? undefined : { number: unsafe.number, timestampMs: unsafe.timestamp * 1000 },
      lastBlock: this.lastBlock,
      blocksPerSecond: this.speed(unsafe?.number),
      sequencer: sequencing === undefined ? undefined : { ...sequencing, publishProblem: this.publishProblem },
      gossip: gossip === undefined ? undefined : { ...gossip, hadPeers: this.hadPeers },
      derivation: status,
      l1HeadAtMs: status.l1HeadAtMs,
      follows: status.follows,
      batcher: batcher(),
    }
  }

  /** Blocks per second. Drops samples above a head that went back, and samples from the future after a clock change. */
  private speed(number: number | undefined): number | undefined {
    const atMs = this.modules.clock.now()
    if (number === undefined) return undefined
    this.heights = this.heights.filter((one) => atMs - one.atMs <= SPEED_MS && one.atMs <= atMs && one.number <= number)
    const [oldest] = this.heights
    // Limits the samples, however often health is read.
    if (atMs - (this.heights.at(-1)?.atMs ?? 0) >= CHECK_INTERVAL_MS) this.heights.push({ atMs, number })
    const seconds = oldest === undefined ? 0 : (atMs - oldest.atMs) / 1000
    return oldest === undefined || seconds < MIN_SPEED_S ? undefined : (number - oldest.number) / seconds
  }

  private async check(): Promise<void> {
    const { clock } = this.modules
    const health = await this.read()
    const codes = health.causes.map(({ code }) => code)
    const key = `${health.state} ${[...codes].sort()}`
    const nowMs = clock.now()
    // A time in the future: the clock was set back.
    if (this.candidate?.key !== key || this.candidate.sinceMs > nowMs) this.candidate = { key, sinceMs: nowMs }
    const before = this.logged
    if (before !== undefined && key === `${before.state} ${[...before.codes].sort()}`) return
    const isFirst = before === undefined
    if (isFirst && health.state !== 'healthy' && codes.every((code) => STARTUP_CODES.has(code))) return
    const firstHoldMs = health.state === 'healthy' ? 0 : GRACE_MS
    if (nowMs - this.candidate.sinceMs < (isFirst ? firstHoldMs : this.holdMs)) return
    this.logged = { state: health.state, codes }
    this.log(health, before)
  }

  private log({ state, text, causes }: NodeHealth, before: LoggedVerdict | undefined): void {
    const { logger } = this.modules
    const fields = {
      why: text,
      ...(causes.length < 2 ? {} : { causes: causes.map(({ code }) => code).join(',') }),
      ...(causes[0]?.command === undefined ? {} : { command: causes[0].command }),
    }
    const rank = (one: VerdictState): number => VERDICT_STATES.indexOf(one)
    const isNew = causes.some(({ code }) => before?.codes.includes(code) !== true)
    const isWorse =
      rank(state) > rank(before?.state ?? 'healthy') || (rank(state) === rank(before?.state ?? 'healthy') && isNew)
    if (isWorse) logger.warn(`Node is ${state}`, fields)
    else logger.info(`Node is ${state}`, { ...fields, before: before?.state })
  }
}
