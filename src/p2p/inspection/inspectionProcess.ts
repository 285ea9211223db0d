import type { Clock } from '../../lib/clock.ts'
import { DecodeError, DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { programFile } from '../../lib/workProcess/programFile.ts'
import { type WorkJob, WorkPool } from '../../lib/workProcess/workPool.ts'
import { startWorkProcess, type WorkProcess } from '../../lib/workProcess/workProcess.ts'
import { transactionsPlace, withUnreadTransactions } from '../../rollup/protocol/index.ts'
import type { PayloadVersion } from '../../rollup/protocol/payload/payloadSsz.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { createFairQueue } from './fairQueue.ts'
import { bodyOf, type Inspection, type ValidationContext } from './inspection.ts'
import type { Answer, Task, Work } from './inspectionTask.ts'
import type { IdentifiedMessage } from './messageId.ts'
import type { FramedBlock, UnpackedBlock } from './unpackBlock.ts'

/** A large message got no verdict, or a large answer was not read. The peer is not to blame. */
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
  /** The sender. The queue is fair between senders. */
  from: string
  context: ValidationContext
}

/** Waiting messages, each up to 10 MiB. */
const QUEUE = { total: 24, perPeer: 6 }
/** Time limit from a message's arrival to its verdict: op-node's limit for a validator. */
export const TIME_LIMIT_MS = 3_000
/** Time limit of one message in the process, which needs 0.1 s at most. After it the process counts as stuck. */
export const STUCK_MS = 3_000
/** Time limit for the process to load: 0.3 s, many times more on an overloaded machine. */
export const LOADING_MS = 30_000

interface Job extends WorkJob<Task, Answer> {
  fail(failure: InspectionFailure): void
}

/**
 * Process for large messages and answers. It starts with the first one, loads in 0.3 s and takes 70 MB. A thread would
 * need less, but V8 or addons may crash all threads when one begins or ends (nodejs/node 64500). A crash of this
 * process does not harm the node. An idle process does not keep the node's process alive.
 */
export type InspectionProcess = ReturnType<typeof createInspectionProcess>

export function createInspectionProcess(
  modules: { clock: Clock; logger: Logger; signal?: AbortSignal | undefined },
  options: { startChild?: typeof startOwnChild; timeLimitMs?: number; stuckMs?: number } = {},
) {
  const { clock, logger } = modules
  const { timeLimitMs = TIME_LIMIT_MS, stuckMs = STUCK_MS, startChild = startOwnChild } = options
  const queue = createFairQueue<Job>(QUEUE, () => clock.now())
  const pool = new WorkPool<Task, Answer, Job>(
    {
      clock,
      logger,
      signal: modules.signal,
      queue: { take: () => queue.take(), putBack: () => {} },
      startChild,
    },
    {
      work: 'inspects large gossip messages',
      jobsPerProcess: 1,
      loadingMs: LOADING_MS,
      stuckMs,
      pauseMs: exponentialBackoff(100, 2_000),
    },
  )

  /** Queues a job with the time limit. `onAnswer` returns true after the last answer. */
  const submit = (
    { from, work, bytes }: { from: string; work: Work; bytes: Uint8Array },
    onAnswer: (answer: Answer, bytes: Uint8Array) => boolean,
    reject: (failure: InspectionFailure) => void,
  ): void => {
    let begunAtMs = Number.POSITIVE_INFINITY
    const charge = (): void => queue.charge(from, Math.max(0, clock.now() - begunAtMs))
    const fail = (failure: InspectionFailure): void => {
      cancel()
      reject(failure)
    }
    const job: Job = {
      bytes,
      fail,
      task(id) {
        begunAtMs = clock.now()
        return { ...work, id }
      },
      onAnswer(answer, bytes) {
        try {
          if ('failure' in answer) fail(new InspectionFailure('worker-failed', answer.failure))
          else if (!onAnswer(answer, bytes)) return false
        } catch (error) {
          fail(new InspectionFailure('worker-failed', String(error)))
        }
        cancel()
        charge()
        return true
      },
      onLost(how, why) {
        fail(new InspectionFailure(how === 'stuck' ? 'timed-out' : 'worker-failed', why))
        charge()
      },
    }
    const cancel = clock.setTimeout(() => {
      queue.remove(job)
      fail(new InspectionFailure('timed-out', `no verdict in ${timeLimitMs} ms`))
    }, timeLimitMs)
    const added = queue.add(from, job)
    if (added === false) fail(new InspectionFailure('overloaded', 'too many large messages at once'))
    else if (added !== true) added.fail(new InspectionFailure('overloaded', 'other peers have fewer messages waiting'))
    pool.dispatch()
  }

  return {
    /** Rejects with InspectionFailure. The inspection of a good message may also reject with it. */
    identify({ topic, compressed, from, context }: LargeMessage): Promise<IdentifiedMessage> {
      const identified = Promise.withResolvers<IdentifiedMessage>()
      const inspected = Promise.withResolvers<Inspection>()
      // The caller may not use the inspection, if the id is already known.
      inspected.promise.catch(() => {})
      submit(
        { from, work: { topic, context }, bytes: compressed },
        (answer, message) => {
          if ('inspection' in answer) {
            inspected.resolve(withTransactions(answer.inspection, message, context))
            return true
          }
          if (!('messageId' in answer)) return false
          const { messageId: id, unpacked } = answer
          identified.resolve({ id, unpacked: unpacked.ok ? { ok: true, inspection: inspected.promise } : unpacked })
          return !unpacked.ok
        },
        (failure) => {
          identified.reject(failure)
          inspected.reject(failure)
        },
      )
      return identified.promise
    },
    /** Decodes the block of an answer by `from`. Rejects with DecodeError or InspectionFailure. */
    unpackBlock({ frames, version }: FramedBlock, from: string): Promise<UnpackedBlock> {
      const unpacked = Promise.withResolvers<UnpackedBlock>()
      submit(
        { from, work: { version }, bytes: frames },
        (answer, body) => {
          if ('block' in answer) {
            const { envelope, computedHash } = answer.block
            unpacked.resolve({ envelope: readLater(envelope, body, version), computedHash, body })
          } else if ('undecodable' in answer) unpacked.reject(new DecodeError(answer.undecodable))
          else return false
          return true
        },
        unpacked.reject,
      )
      return unpacked.promise
    },
    /** Ends the process. Waiting jobs fail. */
    close: () => pool.close(),
  }
}

function withTransactions(inspection: Inspection, message: Uint8Array, context: ValidationContext): Inspection {
  if (inspection.stop !== 'none') return inspection
  return { ...inspection, envelope: readLater(inspection.envelope, bodyOf(message), context.version) }
}

/** The transactions stay inside the body. The other process has checked that they decode. */
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
