import { availableParallelism } from 'node:os'
import type { RpcContext } from '../../jsonRpc/callContext.ts'
import { bytesOf, type Pieces, WrittenJson } from '../../jsonRpc/pieces.ts'
import { failure, type RpcDispatcher, timedOut, toRpcError } from '../../jsonRpc/server.ts'
import { JsonRpcError, type JsonValue, RPC_SERVER_ERROR } from '../../jsonRpc/types.ts'
import { EMPTY_BYTES } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { exponentialBackoff } from '../../lib/retry.ts'
import { programFile } from '../../lib/workProcess/programFile.ts'
import { type WorkJob, WorkPool } from '../../lib/workProcess/workPool.ts'
import { startWorkProcess } from '../../lib/workProcess/workProcess.ts'
import { answerChainRead } from '../chain/storage/chainReads.ts'
import type { Chain } from '../chain/types.ts'
import { isLong, timedOutAfter } from '../rpc/callLimits.ts'
import type { CallAnswer, CallOptions, CallTask, LabelHashes, ServedMethods } from './callTask.ts'

/** One beside the chain's own loop where there are two cores. */
const MAX_PROCESSES = availableParallelism() > 3 ? 2 : 1
/** Each may hold megabytes; they share the process's time. */
const MAX_RUNNING = 4
/**
 * Parameters that only one call of those that run in a process may have, as only one may be of a method that gathers much: on
 * both sides they are there several times.
 */
const LARGE_BYTES = 256 * 1024
/** Waiting calls, and the bytes of their parameters: more are refused. */
const MAX_WAITING = 256
const MAX_WAITING_BYTES = 32 * 1024 * 1024
/**
 * For a call to notice that its time is over; then its process ends, with all that it keeps. Beside busy programs it may
 * have a fiftieth of the processor, since it stands back for them.
 */
const GRACE_MS = 10_000
/** For a process to load, on a machine that is overloaded. */
const LOADING_MS = 30_000
/** A process that had nothing to do for so long ends: it holds a hundred megabytes. */
const IDLE_MS = 60_000
/** How often one call is begun: another one may have taken its process along. */
const TRIES = 2
/** Heap of a process: caches, and what its calls hold. */
const HEAP_MEGABYTES = 256

/** Code of "limit exceeded" (EIP-1474). */
const RPC_LIMIT_EXCEEDED = -32005

/** Where calls run that would hold up the chain. */
export interface CallService {
  /** Throws JsonRpcError: what the method answers, `execution aborted` after `timeoutMs`, or that too many wait. */
  run(method: string, params: readonly JsonValue[], context: RpcContext, timeoutMs?: number): Promise<WrittenJson>
  /**
   * Answers the body of a request for the served methods, which is read there too and is nobody else's from then on;
   * `dispatcher` runs what the process cannot. What keeps it from being run is the answer.
   */
  answerBody(
    body: Uint8Array,
    context: RpcContext,
    dispatcher: RpcDispatcher,
    served: ServedMethods,
  ): Promise<Pieces | undefined>
  /** Calls that run and that wait, and processes that had to be ended. */
  stats(): { running: number; waiting: number; broken: number }
  close(): Promise<void>
}

export interface CallServiceModules {
  chain: Chain
  clock: Clock
  logger: Logger
  /** Closes it. */
  signal?: AbortSignal | undefined
}

export interface CallServiceOptions extends CallOptions {
  /** For tests: another program in the process's place. */
  file?: URL
  graceMs?: number
  maxProcesses?: number
}

interface Job extends WorkJob<CallTask, CallAnswer> {
  /** For the log. */
  name: string
}

/** A call, or a body with calls. */
interface Call {
  name: string
  task(id: number, labels: LabelHashes): CallTask
  bytes: Uint8Array
  /** Runs a request here, and returns the answer. */
  answerQuestion?(request: Uint8Array): Promise<Uint8Array>
}

/** Runs methods that only read in processes of their own, which read the chain through this one. */
export function createCallService(
  { chain, clock, logger, signal }: CallServiceModules,
  { file = OWN_FILE, graceMs = GRACE_MS, maxProcesses = MAX_PROCESSES, ...options }: CallServiceOptions,
): CallService {
  const waiting: Job[] = []
  let waitingBytes = 0

  const wait = (job: Job): void => {
    waiting.push(job)
    waitingBytes += job.bytes.length
  }
  const leaveQueue = (job: Job): void => {
    const place = waiting.indexOf(job)
    if (place < 0) return
    waiting.splice(place, 1)
    waitingBytes -= job.bytes.length
  }
  const pool = new WorkPool<CallTask, CallAnswer, Job>(
    {
      clock,
      logger,
      signal,
      queue: {
        take(running) {
          // A large job that nobody waits for any more may still be on its way.
          const job = running.some(isLarge) ? waiting.find((other) => !isLarge(other)) : waiting[0]
          if (job !== undefined) leaveQueue(job)
          return job
        },
        putBack: wait,
      },
      startChild(onAnswer) {
        const reads = chain.chainReads()
        const child = startWorkProcess<CallTask, CallAnswer>(file, onAnswer, {
          answerRead: (request) => answerChainRead(reads, request),
          maxHeapMegabytes: HEAP_MEGABYTES,
        })
        const { config, genesis } = chain
        child.send({ kind: 'start', config: config.json, genesis: genesis.hash, options }, EMPTY_BYTES)
        return child
      },
    },
    {
      work: 'runs calls',
      processes: maxProcesses,
      jobsPerProcess: MAX_RUNNING,
      loadingMs: LOADING_MS,
      idleMs: IDLE_MS,
      tries: TRIES,
      pauseMs: exponentialBackoff(100, 10_000),
    },
  )

  const jobOf = (call: Call, resolve: (result: Uint8Array) => void, reject: (error: unknown) => void): Job => {
    const job: Job = {
      name: call.name,
      bytes: call.bytes,
      task(id) {
        const labels = { head: chain.head().hash, safe: chain.safe()?.hash, finalized: chain.finalized()?.hash }
        return call.task(id, labels)
      },
      onAnswer({ question, unexpected, error }, bytes) {
        if (question !== undefined) {
          // Its effect here must not come twice.
          job.isFinal = true
          call.answerQuestion?.(bytes).then(
            (answer) => pool.tell(job, () => ({ kind: 'answer', question }), answer),
            (problem: unknown) => giveUp(job, () => reject(problem)),
          )
          return false
        }
        for (const { method, message: err } of unexpected ?? []) {
          logger.error('RPC method failed unexpectedly', { method, err })
        }
        if (error === undefined) resolve(bytes)
        else if (error.isUnexpected) reject(new Error(error.message))
        else
          reject(new JsonRpcError(error.rpcCode, error.message, error.data === undefined ? {} : { data: error.data }))
        return true
      },
      onLost(how, why) {
        reject(
          new JsonRpcError(RPC_SERVER_ERROR, how === 'closed' ? why : `the call could not be run to its end: ${why}`),
        )
      },
    }
    return job
  }

  /** It may still be running: its process is to end it, or ends itself. */
  const giveUp = (job: Job, reject: () => void): void => {
    job.isFinal = true
    reject()
    leaveQueue(job)
    // What was begun may still be on its way to a process.
    const why = `${job.name} did not end when its time was over`
    void pool
      .tell(job, (id) => ({ kind: 'cancel', id }), EMPTY_BYTES)
      ?.then(() => clock.setTimeout(() => pool.endProcessOf(job, why), graceMs))
  }

  const runJob = async (call: Call, { signal }: RpcContext, timeoutMs: number): Promise<Uint8Array> => {
    signal.throwIfAborted()
    if (waiting.length >= MAX_WAITING || waitingBytes + call.bytes.length > MAX_WAITING_BYTES) {
      throw new JsonRpcError(RPC_LIMIT_EXCEEDED, 'too many calls wait to be run: try again later')
    }
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const job = jobOf(call, resolve, reject)
    const leave = (): void => giveUp(job, () => reject(signal.reason))
    signal.addEventListener('abort', leave, { once: true })
    const endTime = () => giveUp(job, () => reject(timedOutAfter(timeoutMs)))
    const cancelTime = timeoutMs === 0 ? () => {} : clock.setTimeout(endTime, timeoutMs)
    wait(job)
    pool.dispatch()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
      cancelTime()
    }
  }

  return {
    async run(method, params, context, timeoutMs = 0) {
      const call: Call = {
        name: method,
        task: (id, labels) => ({ kind: 'call', id, method, labels }),
        bytes: Buffer.from(JSON.stringify(params)),
      }
      return new WrittenJson([await runJob(call, context, timeoutMs)])
    },
    async answerBody(body, context, dispatcher, served) {
      const { signal, foreignOrigin, lacksToken, subscriber } = context
      // Nothing goes ahead: the other process puts the answer together.
      const ofQuestions = { signal, isOver: () => context.isOver(), foreignOrigin, lacksToken, subscriber }
      const request: Call = {
        name: 'a large body',
        task: (id, labels) => ({ kind: 'body', id, labels, served }),
        bytes: body,
        async answerQuestion(question) {
          return bytesOf((await dispatcher.handle(decoder.decode(question), ofQuestions)) ?? [])
        },
      }
      try {
        const answer = await runJob(request, context, 0)
        return answer.length === 0 ? undefined : [answer]
      } catch (thrown) {
        // What its id is nobody here knows.
        return failure(null, context.isOver() ? timedOut() : toRpcError(thrown))
      }
    },
    stats: () => ({ ...pool.stats(), waiting: waiting.length }),
    close: () => pool.close(),
  }
}

function isLarge({ name, bytes }: Job): boolean {
  return bytes.length > LARGE_BYTES || isLong(name)
}

const decoder = new TextDecoder()

const OWN_FILE = programFile('callMain', import.meta.url)
