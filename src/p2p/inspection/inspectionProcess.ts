import type { Clock } from '../../lib/clock.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { whenAborted } from '../../lib/untilAborted.ts'
import { programFile } from '../../lib/workProcess/programFile.ts'
import { createSupervisor } from '../../lib/workProcess/supervisor.ts'
import { startWorkProcess, type WorkProcess } from '../../lib/workProcess/workProcess.ts'
import { transactionsPlace, withUnreadTransactions } from '../../rollup/protocol/index.ts'
import type { PayloadVersion } from '../../rollup/protocol/payload/payloadSsz.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { createFairQueue } from './fairQueue.ts'
import { bodyOf, type Inspection, type ValidationContext } from './inspection.ts'
import type { Answer, Task, Work } from './inspectionTask.ts'
import type { IdentifiedMessage } from './messageId.ts'
import type { FramedBlock, UnpackedBlock } from './unpackBlock.ts'

/** Why a large message has no verdict, or a large answer was not read; the peer is not to blame. */
export class InspectionFailure extends DeviumError {
  readonly reason: 'overloaded' | 'timed-out' | 'worker-failed'

  constructor(reason: InspectionFailure['reason'], message: string) {
    super(`inspection-${reason}`, message)
    this.reason = reason
  }
}

export interface LargeMessage {
  topic: string
  compressed: Uint8Array
  /** Who sent it: turns are taken by peer. */
  from: string
  context: ValidationContext
}

/** Messages that wait, each of up to 10 MiB. */
const QUEUE = { total: 24, perPeer: 6 }
/** From a message's arrival to its verdict: op-node's limit on a validator. */
export const TIME_LIMIT_MS = 3_000
/** For one message, which takes 0.1 s at most: then the process is taken for stuck. */
export const STUCK_MS = 3_000
/** For a process to load what it needs: 0.3 s, on a machine that is overloaded many times that. */
export const LOADING_MS = 30_000
/** What waits for the process, or is with it. */
interface Job {
  from: string
  work: Work
  bytes: Uint8Array
  /** True when no more answers follow. */
  onAnswer(answer: Answer, bytes: Uint8Array): boolean
  reject(failure: InspectionFailure): void
  /** Undoes the time limit. */
  cancel(): void
}

/**
 * Another process for large messages and answers, which starts with the first one: it takes 70 MB, and 0.3 s to
 * load. A thread would be lighter, but V8 and addons may take all threads along when one of them begins or ends (nodejs/node 64500); what
 * becomes of this one is no harm to the node. It does not keep the node's process alive when idle.
 */
export type InspectionProcess = ReturnType<typeof createInspectionProcess>

export function createInspectionProcess(
  /** `signal` closes it. */
  modules: { clock: Clock; logger: Logger; signal?: AbortSignal | undefined },
  options: { startChild?: typeof startOwnChild; timeLimitMs?: number; stuckMs?: number } = {},
) {
  const { clock, logger } = modules
  const { timeLimitMs = TIME_LIMIT_MS, stuckMs = STUCK_MS, startChild = startOwnChild } = options
  const queue = createFairQueue<Job>(QUEUE, () => clock.now())
  let running: { task: number; job: Job; sinceMs: number; cancelStuck(): void } | undefined
  let tasks = 0
  let closed = false

  const processes = createSupervisor<Task, Answer>(
    {
      clock,
      startChild,
      onAnswer: (answer, bytes) => onAnswer(answer, bytes),
      onBreakdown(how, why) {
        const reason = how === 'stuck' ? 'timed-out' : 'worker-failed'
        logger.warn('The process that inspects large gossip messages broke down', { reason, why })
        if (running !== undefined) fail(running.job, new InspectionFailure(reason, why))
        finish()
      },
      onPauseOver: () => next(),
    },
    { loadingMs: LOADING_MS, pauseMs: exponentialBackoff(100, 2_000) },
  )

  const next = (): void => {
    if (running !== undefined || queue.size === 0) return
    const child = processes.get()
    if (child === undefined) return
    const job = queue.take()
    if (job === undefined) return
    tasks += 1
    const begun = { task: tasks, job, sinceMs: clock.now(), cancelStuck: () => {} }
    running = begun
    child.send({ ...job.work, task: tasks }, job.bytes)
    void child.ready.then(() => {
      if (running !== begun) return
      begun.sinceMs = clock.now()
      begun.cancelStuck = clock.setTimeout(() => processes.giveUp(`no answer in ${stuckMs} ms`), stuckMs)
    })
  }
  const finish = (): void => {
    if (running !== undefined) {
      running.cancelStuck()
      queue.charge(running.job.from, clock.now() - running.sinceMs)
    }
    running = undefined
    next()
  }

  const onAnswer = (answer: Answer, bytes: Uint8Array): void => {
    if (running === undefined || answer.task !== running.task) return
    const { job } = running
    try {
      if ('failure' in answer) fail(job, new InspectionFailure('worker-failed', answer.failure))
      else if (!job.onAnswer(answer, bytes)) return
    } catch (error) {
      fail(job, new InspectionFailure('worker-failed', String(error)))
    }
    finish()
  }
  /** Lets it wait for its turn, within the time limit. */
  const submit = (wanted: Omit<Job, 'cancel'>): Job => {
    const job: Job = {
      ...wanted,
      cancel: clock.setTimeout(() => {
        queue.remove((waiting) => waiting === job)
        fail(job, new InspectionFailure('timed-out', `no verdict in ${timeLimitMs} ms`))
      }, timeLimitMs),
    }
    const added = queue.add(job.from, job)
    if (added === false) fail(job, new InspectionFailure('overloaded', 'too many large messages at once'))
    else if (added !== true)
      fail(added, new InspectionFailure('overloaded', 'others have fewer large messages waiting'))
    next()
    return job
  }

  /** Ends the process; what waits fails. */
  const close = async (): Promise<void> => {
    closed = true
    const failure = stopping()
    for (const job of queue.remove(() => true)) fail(job, failure)
    if (running !== undefined) fail(running.job, failure)
    const ended = processes.close()
    finish()
    await ended
  }
  whenAborted(modules.signal, () => void close())

  return {
    /** Rejects with InspectionFailure; so does the inspection that a good message brings. */
    identify({ topic, compressed, from, context }: LargeMessage): Promise<IdentifiedMessage> {
      if (closed) return Promise.reject(stopping())
      const identified = Promise.withResolvers<IdentifiedMessage>()
      const inspected = Promise.withResolvers<Inspection>()
      // Nobody may want it: the message may be known by its id.
      inspected.promise.catch(() => {})
      const job = submit({
        from,
        work: { topic, context },
        bytes: compressed,
        onAnswer(answer, message) {
          if ('inspection' in answer) {
            job.cancel()
            inspected.resolve(withTransactions(answer.inspection, message, context))
            return true
          }
          if (!('id' in answer)) return false
          const { id, unpacked } = answer
          const isLast = !unpacked.ok
          identified.resolve({
            id,
            unpacked: isLast ? unpacked : { ok: true, inspection: inspected.promise },
          })
          if (isLast) job.cancel()
          return isLast
        },
        reject(failure) {
          identified.reject(failure)
          inspected.reject(failure)
        },
      })
      return identified.promise
    },
    /** The block of an answer that `from` gave. Rejects with DecodeError, and with InspectionFailure. */
    unpackBlock({ frames, version }: FramedBlock, from: string): Promise<UnpackedBlock> {
      if (closed) return Promise.reject(stopping())
      const unpacked = Promise.withResolvers<UnpackedBlock>()
      const job = submit({
        from,
        work: { version },
        bytes: frames,
        onAnswer(answer, body) {
          if ('block' in answer) {
            const { envelope, computedHash } = answer.block
            unpacked.resolve({ envelope: readLater(envelope, body, version), computedHash, body })
          } else if ('undecodable' in answer) unpacked.reject(new DecodeError(answer.undecodable))
          else return false
          job.cancel()
          return true
        },
        reject: unpacked.reject,
      })
      return unpacked.promise
    },
    close,
  }
}

const stopping = (): InspectionFailure => new InspectionFailure('worker-failed', 'the node is stopping')

function fail(job: Job, failure: InspectionFailure): void {
  job.cancel()
  job.reject(failure)
}

function withTransactions(inspection: Inspection, message: Uint8Array, context: ValidationContext): Inspection {
  if (inspection.stop !== 'none') return inspection
  return { ...inspection, envelope: readLater(inspection.envelope, bodyOf(message), context.version) }
}

/** The transactions come within a body, and were found to be readable. */
function readLater(envelope: PayloadEnvelope, body: Uint8Array, version: PayloadVersion): PayloadEnvelope {
  const place = transactionsPlace(body, version)
  if (place === undefined) throw new Error('transactions were found where there are none')
  const list = body.subarray(place.start, place.end)
  return { ...envelope, payload: withUnreadTransactions(envelope.payload, list) }
}

function startOwnChild(onAnswer: (answer: Answer, bytes: Uint8Array) => void): WorkProcess<Task> {
  const file = programFile('inspectionMain', import.meta.url)
  return startWorkProcess(file, onAnswer)
}
