import type { Clock } from '../../lib/clock.ts'
import { DecodeError, describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { type Rate, TokenBucket } from '../../lib/tokenBucket.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { P2pError } from '../base/errors.ts'
import { InspectionFailure } from '../inspection/inspectionProcess.ts'
import { RESULT } from './payloadByNumber.ts'
import { GLOBAL_LIMIT, PEER_LIMIT } from './server.ts'

/** op-node's queue of one peer; here the queue of all peers. */
const MAX_QUEUED = 128
/**
 * op-node's limit per peer (sync.go). op-node makes a request above it wait and holds its lock, so all other peers wait
 * too. A peer that answers this late, or that has a slow link, gets this rate, and is tried with more only sometimes.
 */
const OP_NODE_LIMIT = { perSecond: 4, burst: 15 } as const
const LATE_ANSWER_MS = 200
const TRY_FASTER_AFTER_MS = 10_000
/** After a failure a peer rests as long as op-node lets it rest: 15 tokens at 4 a second. */
const FAILURE_REST_MS = 3_750
/** After "not found" or a lost connection the block may be available soon, so the first rest is short. */
const MISS_REST_MS = 250
const MAX_MISS_REST_MS = 2_000
/**
 * A block that a peer has not delivered after this time is requested from another peer too, and from one more each time
 * the wait doubles. Slow or silent peers must not stall a gap. On a slow link of our own, each extra request slows the
 * others.
 */
const SLOW_AFTER_MS = 500
const MAX_PEERS_PER_BLOCK = 4
/** A peer without the protocol may support it after an update. */
const NOT_SERVED_REST_MS = 60_000
/** A job without an answer ends after this time. The caller may enqueue it again. */
const JOB_LIFE_MS = 20_000
/** Result codes other than success are capped at this label (op-node's metric). */
const MAX_RESULT_LABEL = 5

export type Answer = { code: typeof RESULT.ok; envelope: PayloadEnvelope } | { code: number }

export interface BlockClientModules {
  clock: Clock
  logger: Logger
  candidates(): string[]
  /**
   * Throws P2pError `connection-lost` if the link failed and not the peer, P2pError `not-served`, or InspectionFailure
   * if this node could not decode the answer.
   */
  request(peerId: string, number: number): Promise<Answer>
  onBlock(envelope: PayloadEnvelope, from: string): void
  /** An outcome that changes the peer's score. `detail`: the requested block and the error. */
  onResult(peerId: string, outcome: 'valid' | 'error', detail?: string): void
  metrics: { onRequest(role: 'client', number: number, resultCode: number, seconds: number): void }
}

interface Job {
  number: number
  /** Peers that failed or sent a false block. */
  failed: Set<string>
  /** Peer → start time of its request. */
  requested: Map<string, number>
  endsAtMs: number
}

interface PeerState {
  bucket: TokenBucket
  /** Infinite unless the peer's answers were late. */
  fasterAtMs: number
  isBusy: boolean
  restsUntilMs: number
  /** True: the peer did not support the protocol at the last request. */
  lacksProtocol: boolean
  /** Number of "not found" answers in a row. */
  misses: number
  tookMs: number
}

/** Requests single blocks from several peers, one at a time from each, within the known limits of servers. */
export function createBlockClient(modules: BlockClientModules) {
  const { clock, logger } = modules
  const jobs = new Map<number, Job>()
  const peers = new Map<string, PeerState>()
  const everyone = new TokenBucket(clock, GLOBAL_LIMIT)
  let cancelTimer: (() => void) | undefined
  let stopped = false

  const stateOf = (peerId: string): PeerState => {
    let state = peers.get(peerId)
    if (state === undefined) {
      const bucket = new TokenBucket(clock, PEER_LIMIT)
      state = {
        bucket,
        fasterAtMs: Number.POSITIVE_INFINITY,
        isBusy: false,
        restsUntilMs: 0,
        misses: 0,
        tookMs: 0,
        lacksProtocol: false,
      }
      peers.set(peerId, state)
    }
    return state
  }
  const setPace = (state: PeerState, rate: Rate): void => {
    state.bucket = new TokenBucket(clock, rate)
    state.bucket.empty()
  }
  const onAnswered = (state: PeerState, tookMs: number): void => {
    state.tookMs = tookMs
    if (tookMs < LATE_ANSWER_MS) return
    if (state.fasterAtMs === Number.POSITIVE_INFINITY) setPace(state, OP_NODE_LIMIT)
    state.fasterAtMs = clock.now() + TRY_FASTER_AFTER_MS
  }
  /**
   * The highest block without a request. If there is none: the block whose request is slowest, once another request for
   * it is due.
   */
  const nextJob = (peerId: string, nowMs: number): { job: Job; dueInMs: number } | undefined => {
    let best: Job | undefined
    let slowest: { job: Job; dueAtMs: number } | undefined
    for (const job of jobs.values()) {
      if (job.failed.has(peerId)) continue
      const { size } = job.requested
      if (size === 0) {
        if (best === undefined || job.number > best.number) best = job
      } else if (size < MAX_PEERS_PER_BLOCK && !job.requested.has(peerId)) {
        const dueAtMs = Math.max(...job.requested.values()) + SLOW_AFTER_MS * 2 ** (size - 1)
        if (slowest === undefined || dueAtMs < slowest.dueAtMs) slowest = { job, dueAtMs }
      }
    }
    if (best !== undefined) return { job: best, dueInMs: 0 }
    if (slowest === undefined) return undefined
    return { job: slowest.job, dueInMs: Math.max(0, slowest.dueAtMs - nowMs) }
  }
  const dropHopeless = (candidates: readonly string[], nowMs: number): void => {
    for (const job of jobs.values()) {
      if (job.requested.size > 0) continue
      const isRefused = candidates.length > 0 && candidates.every((peerId) => job.failed.has(peerId))
      if (isRefused || nowMs >= job.endsAtMs) jobs.delete(job.number)
    }
  }
  const pump = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
    if (stopped || jobs.size === 0) return
    const nowMs = clock.now()
    const candidates = modules.candidates()
    const present = new Set(candidates)
    for (const [peerId, { isBusy }] of peers) if (!present.has(peerId) && !isBusy) peers.delete(peerId)
    dropHopeless(candidates, nowMs)
    let soonestMs = jobs.size === 0 ? Number.POSITIVE_INFINITY : JOB_LIFE_MS
    candidates.sort((a, b) => stateOf(a).tookMs - stateOf(b).tookMs)
    for (const peerId of candidates) {
      const state = stateOf(peerId)
      if (state.isBusy) continue
      if (nowMs >= state.fasterAtMs) {
        state.fasterAtMs = Number.POSITIVE_INFINITY
        setPace(state, PEER_LIMIT)
      }
      const next = nextJob(peerId, nowMs)
      if (next === undefined) continue
      // No rest lasts this long, so the clock was set back.
      if (state.restsUntilMs - nowMs > NOT_SERVED_REST_MS) state.restsUntilMs = nowMs
      const restMs = state.restsUntilMs - nowMs
      const waitMs = Math.max(everyone.waitMs(), state.bucket.waitMs(), restMs, next.dueInMs)
      if (waitMs > 0) {
        soonestMs = Math.min(soonestMs, waitMs)
        continue
      }
      everyone.take()
      state.bucket.take()
      void run(peerId, state, next.job)
    }
    if (Number.isFinite(soonestMs)) cancelTimer = clock.setTimeout(pump, soonestMs)
  }
  const rest = (state: PeerState): void => {
    state.restsUntilMs = clock.now() + Math.min(MAX_MISS_REST_MS, MISS_REST_MS * 2 ** Math.min(state.misses, 10))
    state.misses += 1
  }
  const run = async (peerId: string, state: PeerState, job: Job): Promise<void> => {
    const startMs = clock.now()
    state.isBusy = true
    job.requested.set(peerId, startMs)
    let code: number = RESULT.unknownError
    try {
      const answer = await modules.request(peerId, job.number)
      code = answer.code
      state.lacksProtocol = false
      if (!('envelope' in answer)) {
        if (code !== RESULT.notFound) throw new P2pError('request-failed', `peer answered with code ${code}`)
        rest(state)
      } else {
        state.misses = 0
        modules.onResult(peerId, 'valid')
        // Another peer may have been faster.
        if (jobs.get(job.number) === job) {
          jobs.delete(job.number)
          modules.onBlock(answer.envelope, peerId)
        }
      }
    } catch (error) {
      if (error instanceof DecodeError || code === RESULT.ok) code = MAX_RESULT_LABEL
      const cause = error instanceof P2pError ? error.code : undefined
      state.lacksProtocol = cause === 'not-served'
      const isUnread = error instanceof InspectionFailure
      const isUnpenalised = isUnread || cause === 'connection-lost' || cause === 'not-served'
      // An answer that crashed the process for large messages is not requested from this peer again.
      if (cause === 'connection-lost' || (isUnread && error.reason !== 'worker-failed')) {
        rest(state)
      } else {
        job.failed.add(peerId)
        state.restsUntilMs = clock.now() + (cause === 'not-served' ? NOT_SERVED_REST_MS : FAILURE_REST_MS)
      }
      if (!stopped) {
        if (!isUnpenalised) modules.onResult(peerId, 'error', `block ${job.number}: ${describeError(error)}`)
        logger.debug('Request for a block failed', {
          peer: peerId,
          number: job.number,
          err: describeError(error),
        })
      }
    } finally {
      state.isBusy = false
      onAnswered(state, clock.now() - startMs)
      job.requested.delete(peerId)
      modules.metrics.onRequest('client', job.number, Math.min(code, MAX_RESULT_LABEL), state.tookMs / 1000)
    }
    pump()
  }
  let isPumpQueued = false
  /** Runs after the caller has queued all blocks, so that the highest goes first. */
  const pumpSoon = (): void => {
    if (isPumpQueued) return
    isPumpQueued = true
    queueMicrotask(() => {
      isPumpQueued = false
      pump()
    })
  }
  return {
    /**
     * Highest first. A queued or running block is not queued twice. `except`: a peer that sent a false block, so it is
     * skipped. False when the queue is full.
     */
    enqueue(number: number, except?: string): boolean {
      const known = jobs.get(number)
      const endsAtMs = clock.now() + JOB_LIFE_MS
      if (known !== undefined) {
        known.endsAtMs = endsAtMs
        pumpSoon()
        if (except !== undefined) known.failed.add(except)
        return true
      }
      if (jobs.size >= MAX_QUEUED) return false
      jobs.set(number, {
        number,
        failed: new Set(except === undefined ? [] : [except]),
        requested: new Map(),
        endsAtMs,
      })
      pumpSoon()
      return true
    },
    /** True: at least one connected peer may support the protocol. */
    canRequest: (): boolean => modules.candidates().some((peerId) => peers.get(peerId)?.lacksProtocol !== true),
    dropBelow(number: number): void {
      for (const job of jobs.values()) if (job.number < number && job.requested.size === 0) jobs.delete(job.number)
    },
    onCandidate: pumpSoon,
    stop(): void {
      stopped = true
      cancelTimer?.()
      jobs.clear()
    },
  }
}
