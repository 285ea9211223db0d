import { Worker } from 'node:worker_threads'
import type { Clock } from '../../lib/clock.ts'
import { DeviumError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { readTransactionsInto, transactionCount, transactionsPlace } from '../../rollup/protocol/index.ts'
import { createFairQueue } from './fairQueue.ts'
import { bodyOf, type Inspection, type Question } from './inspection.ts'
import type { Answer, Task } from './inspectionTask.ts'
import { nextTurn } from './largeMessages.ts'
import type { IdentifiedMessage } from './messageId.ts'

/** Why a large message has no verdict; the peer is not to blame. */
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
  question: Question
}

/** Another thread for large messages, which starts with the first one. It does not keep the process alive when idle. */
export interface InspectionThread {
  /** Rejects with InspectionFailure; so does the inspection that a good message brings. */
  identify(message: LargeMessage): Promise<IdentifiedMessage>
  /** Ends the thread; what waits fails. */
  close(): Promise<void>
}

/** Messages that wait, each of up to 10 MiB. */
const QUEUE = { total: 24, perPeer: 6 }
/** From a message's arrival to its verdict: op-node's limit on a validator. */
const TIME_LIMIT_MS = 3_000
/** For one message, which takes 0.1 s at most: then the thread is taken for stuck. */
const STUCK_MS = 3_000
/** Transactions for which a view is made in one turn of the event loop: 2 ms. */
const VIEWS_PER_TURN = 16_384

interface Job extends LargeMessage {
  identified: PromiseWithResolvers<IdentifiedMessage>
  inspected: PromiseWithResolvers<Inspection>
  /** Undoes the time limit. */
  cancel(): void
}

export function createInspectionThread(
  modules: { clock: Clock; logger: Logger },
  options: { file?: URL; timeLimitMs?: number; stuckMs?: number } = {},
): InspectionThread {
  const { clock, logger } = modules
  const { timeLimitMs = TIME_LIMIT_MS, stuckMs = STUCK_MS, file = workerFile() } = options
  const queue = createFairQueue<Job>(QUEUE, () => clock.now())
  let worker: Worker | undefined
  let running: { task: number; job: Job; sinceMs: number; cancelStuck(): void } | undefined
  let tasks = 0
  let closed = false

  const start = (): Worker => {
    // Without the flags of the process, some of which are for its main module only.
    const started = new Worker(file, { execArgv: ['--disable-warning=ExperimentalWarning'] })
    started.on('message', (answer: Answer) => onAnswer(answer))
    started.on('error', (err: unknown) => {
      if (started === worker) replace('worker-failed', err instanceof Error ? err.message : String(err))
    })
    started.on('exit', (code) => {
      if (started === worker) replace('worker-failed', `ended with code ${code}`)
    })
    return started
  }
  /** The next message starts a new one. */
  const replace = (reason: InspectionFailure['reason'], why: string): void => {
    const broken = worker
    worker = undefined
    void broken?.terminate()
    logger.warn('The thread that inspects large gossip messages broke down', { reason, why })
    if (running !== undefined) fail(running.job, new InspectionFailure(reason, why))
    finish()
  }

  const next = (): void => {
    if (running !== undefined || closed) return
    const job = queue.take()
    if (job === undefined) {
      worker?.unref()
      return
    }
    worker ??= start()
    worker.ref()
    tasks += 1
    // A copy: what came from the network may be part of a larger buffer, and is passed on to other peers.
    const compressed = new Uint8Array(job.compressed)
    const task: Task = { task: tasks, topic: job.topic, compressed, question: job.question }
    const cancelStuck = clock.setTimeout(() => replace('timed-out', `no answer in ${stuckMs} ms`), stuckMs)
    running = { task: tasks, job, sinceMs: clock.now(), cancelStuck }
    worker.postMessage(task, [compressed.buffer])
  }
  const finish = (): void => {
    if (running !== undefined) {
      running.cancelStuck()
      queue.charge(running.job.from, clock.now() - running.sinceMs)
    }
    running = undefined
    next()
  }

  const onAnswer = (answer: Answer): void => {
    if (running === undefined || answer.task !== running.task) return
    const { job } = running
    if ('failure' in answer) {
      fail(job, new InspectionFailure('worker-failed', answer.failure))
      finish()
    } else if ('inspection' in answer) {
      finish()
      void deliver(job, answer.inspection, answer.message)
    } else {
      const { id, idWithoutTopic, unpacked } = answer
      const isLast = !unpacked.ok
      job.identified.resolve({
        id,
        idWithoutTopic,
        unpacked: isLast ? unpacked : { ok: true, inspection: job.inspected.promise },
      })
      if (!isLast) return
      job.cancel()
      finish()
    }
  }
  const deliver = async (job: Job, inspection: Inspection, message: Uint8Array): Promise<void> => {
    try {
      job.inspected.resolve(await withTransactions(inspection, message, job.question))
      job.cancel()
    } catch (error) {
      fail(job, new InspectionFailure('worker-failed', String(error)))
    }
  }

  return {
    identify(message) {
      if (closed) return Promise.reject(new InspectionFailure('worker-failed', 'the node is stopping'))
      const job: Job = {
        ...message,
        identified: Promise.withResolvers(),
        inspected: Promise.withResolvers(),
        cancel: clock.setTimeout(() => {
          queue.remove((waiting) => waiting === job)
          fail(job, new InspectionFailure('timed-out', `no verdict in ${timeLimitMs} ms`))
        }, timeLimitMs),
      }
      // Nobody may want it: the message may be known by its id.
      job.inspected.promise.catch(() => {})
      const added = queue.add(message.from, job)
      if (added === false) fail(job, new InspectionFailure('overloaded', 'too many large messages at once'))
      else if (added !== true)
        fail(added, new InspectionFailure('overloaded', 'others have fewer large messages waiting'))
      next()
      return job.identified.promise
    },
    async close() {
      closed = true
      const failure = new InspectionFailure('worker-failed', 'the node is stopping')
      for (const job of queue.remove(() => true)) fail(job, failure)
      if (running !== undefined) fail(running.job, failure)
      finish()
      const last = worker
      worker = undefined
      await last?.terminate()
    },
  }
}

function fail(job: Job, failure: InspectionFailure): void {
  job.cancel()
  job.identified.reject(failure)
  job.inspected.reject(failure)
}

/** The thread sends the transactions within the message's bytes; views of them are made here, in turns when they are many. */
async function withTransactions(inspection: Inspection, message: Uint8Array, question: Question): Promise<Inspection> {
  if (inspection.stop !== 'none') return inspection
  const body = bodyOf(message)
  const place = transactionsPlace(body, question.version)
  if (place === undefined) throw new Error('the thread found transactions where there are none')
  const list = body.subarray(place.start, place.end)
  const count = transactionCount(list)
  const transactions: Uint8Array[] = []
  while (transactions.length < count) {
    if (transactions.length > 0) await nextTurn()
    readTransactionsInto(transactions, list, Math.min(count, transactions.length + VIEWS_PER_TURN))
  }
  const { envelope } = inspection
  return { ...inspection, envelope: { ...envelope, payload: { ...envelope.payload, transactions } } }
}

/** The source as it is, or compiled. */
function workerFile(): URL {
  return new URL(`./inspectionWorker.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url)
}
