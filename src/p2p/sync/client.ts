import type { Clock } from '../../lib/clock.ts'
import { DecodeError, describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { P2pError } from '../errors.ts'
import { RESULT } from './payloadByNumber.ts'
import { GLOBAL_LIMIT, PEER_LIMIT } from './server.ts'
import { TokenBucket } from './tokenBucket.ts'

/** op-node's queue of a peer; here the queue of all. */
const MAX_QUEUED = 128
/** Tokens that a failure costs: some four seconds of pause. */
const ERROR_TOKENS = 15
/** Answers other than success above this are counted as one (op-node's metric). */
const MAX_RESULT_LABEL = 5

export type Answer = { code: typeof RESULT.ok; envelope: PayloadEnvelope } | { code: number }

export interface BlockClientModules {
  clock: Clock
  logger: Logger
  /** Peers that may be asked. */
  candidates(): string[]
  ask(peerId: string, number: number): Promise<Answer>
  onBlock(envelope: PayloadEnvelope, from: string): void
  /** `detail`: what was asked for, and what went wrong. */
  onResult(peerId: string, outcome: 'valid' | 'error' | 'not-found', detail?: string): void
  metrics: { onRequest(role: 'client', number: number, resultCode: number, seconds: number): void }
}

/** Asks for single blocks, spread over the peers, one at a time each, within the limits that servers are known to have. */
export interface BlockClient {
  /**
   * Highest first; what is queued already, or under way, is not asked twice. A peer that gave a false answer is left
   * out. False when the queue is full.
   */
  enqueue(number: number, except?: string): boolean
  stop(): void
}

interface Job {
  number: number
  /** Peers that could not help. */
  tried: Set<string>
}

export function createBlockClient(modules: BlockClientModules): BlockClient {
  const { clock, logger } = modules
  const jobs = new Map<number, Job>()
  const active = new Set<number>()
  const busy = new Set<string>()
  const everyone = new TokenBucket(clock, GLOBAL_LIMIT.perSecond, GLOBAL_LIMIT.burst)
  const buckets = new Map<string, TokenBucket>()
  let cancelTimer: (() => void) | undefined
  let stopped = false

  const bucketOf = (peerId: string): TokenBucket => {
    let bucket = buckets.get(peerId)
    if (bucket === undefined) {
      bucket = new TokenBucket(clock, PEER_LIMIT.perSecond, PEER_LIMIT.burst)
      buckets.set(peerId, bucket)
    }
    return bucket
  }
  const nextJob = (peerId: string): Job | undefined => {
    let best: Job | undefined
    for (const job of jobs.values()) {
      if (active.has(job.number) || job.tried.has(peerId)) continue
      if (best === undefined || job.number > best.number) best = job
    }
    return best
  }
  const pump = (): void => {
    cancelTimer?.()
    cancelTimer = undefined
    if (stopped || jobs.size === 0) return
    const candidates = modules.candidates()
    const present = new Set(candidates)
    for (const peerId of buckets.keys()) if (!present.has(peerId)) buckets.delete(peerId)
    for (const job of jobs.values()) {
      if (!active.has(job.number) && candidates.every((peerId) => job.tried.has(peerId))) jobs.delete(job.number)
    }
    let soonestMs = Number.POSITIVE_INFINITY
    for (const peerId of candidates) {
      if (busy.has(peerId)) continue
      const job = nextJob(peerId)
      if (job === undefined) continue
      const waitMs = Math.max(everyone.waitMs(), bucketOf(peerId).waitMs())
      if (waitMs > 0) {
        soonestMs = Math.min(soonestMs, waitMs)
        continue
      }
      everyone.take()
      bucketOf(peerId).take()
      void run(peerId, job)
    }
    if (Number.isFinite(soonestMs)) cancelTimer = clock.setTimeout(pump, soonestMs)
  }
  const run = async (peerId: string, job: Job): Promise<void> => {
    const startMs = clock.now()
    busy.add(peerId)
    active.add(job.number)
    let code: number = RESULT.unknownError
    try {
      const answer = await modules.ask(peerId, job.number)
      code = answer.code
      if (!('envelope' in answer)) {
        if (code !== RESULT.notFound) throw new P2pError('request-failed', `peer answered with code ${code}`)
        modules.onResult(peerId, 'not-found')
        job.tried.add(peerId)
      } else {
        jobs.delete(job.number)
        modules.onResult(peerId, 'valid')
        modules.onBlock(answer.envelope, peerId)
      }
    } catch (error) {
      if (error instanceof DecodeError || code === RESULT.ok) code = MAX_RESULT_LABEL
      job.tried.add(peerId)
      bucketOf(peerId).take(ERROR_TOKENS)
      if (!stopped) {
        modules.onResult(peerId, 'error', `block ${job.number}: ${describeError(error)}`)
        logger.debug('Asking a peer for a block failed', {
          peer: peerId,
          number: job.number,
          err: describeError(error),
        })
      }
    } finally {
      busy.delete(peerId)
      active.delete(job.number)
      modules.metrics.onRequest('client', job.number, Math.min(code, MAX_RESULT_LABEL), (clock.now() - startMs) / 1000)
    }
    pump()
  }
  return {
    enqueue(number, except) {
      const known = jobs.get(number)
      if (known !== undefined) {
        if (except !== undefined) known.tried.add(except)
        return true
      }
      if (jobs.size >= MAX_QUEUED) return false
      jobs.set(number, { number, tried: new Set(except === undefined ? [] : [except]) })
      // After the caller has queued all it wants, so that the highest goes first.
      if (jobs.size === 1) queueMicrotask(pump)
      else cancelTimer ??= clock.setTimeout(pump, 0)
      return true
    },
    stop() {
      stopped = true
      cancelTimer?.()
      jobs.clear()
    },
  }
}
