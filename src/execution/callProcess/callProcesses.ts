import { availableParallelism } from 'node:os'
import type { RpcContext } from '../../jsonRpc/callContext.ts'
import { bytesOf, type Pieces, WrittenJson } from '../../jsonRpc/pieces.ts'
import { failure, type RpcDispatcher, timedOut, toRpcError } from '../../jsonRpc/server.ts'
import { JsonRpcError, type JsonValue, RPC_SERVER_ERROR } from '../../jsonRpc/types.ts'
import { freeBytes } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { whenAborted } from '../../lib/untilAborted.ts'
import { programFile } from '../../lib/workProcess/programFile.ts'
import { startWorkProcess, type WorkProcess } from '../../lib/workProcess/workProcess.ts'
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

interface Job {
  id: number
  /** What it is, for the log. */
  name: string
  task(labels: LabelHashes): CallTask
  /** Parameters, or a whole body. */
  bytes: Uint8Array
  tries: number
  /** Nobody waits for it any more. */
  isGivenUp: boolean
  /** Runs a request here, and returns the answer. */
  answerQuestion(request: Uint8Array): Promise<Uint8Array>
  resolve(result: Uint8Array): void
  reject(error: unknown): void
}

interface Runner {
  process: WorkProcess<CallTask>
  jobs: Map<number, Job>
  cancelTimer: () => void
}

/**
 * Runs methods that only read in processes of their own, which start with the first call and read the chain through this
 * one. Why they are no threads: `WorkProcess`.
 */
export function createCallService(
  { chain, clock, logger, signal }: CallServiceModules,
  { file = OWN_FILE, graceMs = GRACE_MS, maxProcesses = MAX_PROCESSES, ...options }: CallServiceOptions,
): CallService {
  const runners = new Set<Runner>()
  const waiting: Job[] = []
  let waitingBytes = 0
  let ids = 0
  let broken = 0
  let closed = false

  const start = (): Runner => {
    const reads = chain.chainReads()
    const runner: Runner = {
      jobs: new Map(),
      cancelTimer: () => {},
      process: startWorkProcess<CallTask, CallAnswer>(file, (answer, bytes) => onAnswer(runner, answer, bytes), {
        answerRead: (request) => answerChainRead(reads, request),
        maxHeapMegabytes: HEAP_MEGABYTES,
      }),
    }
    const { config, genesis } = chain
    runner.process.send({ kind: 'start', config: config.json, genesis: genesis.hash, options }, NO_BYTES)
    const cancelLoading = clock.setTimeout(() => replace(runner, `not ready in ${LOADING_MS} ms`), LOADING_MS)
    void runner.process.ready.then(cancelLoading)
    void runner.process.ended.then((why) => {
      cancelLoading()
      replace(runner, why)
    })
    runners.add(runner)
    return runner
  }

  /** Its other calls are begun once more. */
  const replace = (runner: Runner, why: string): void => {
    if (closed || !runners.delete(runner)) return
    broken += 1
    runner.cancelTimer()
    void runner.process.kill()
    logger.warn('A process that runs calls broke down', { why, calls: runner.jobs.size })
    for (const job of runner.jobs.values()) {
      if (job.isGivenUp) continue
      if (job.tries < TRIES) wait(job)
      else job.reject(new JsonRpcError(RPC_SERVER_ERROR, `the call could not be run to its end: ${why}`))
    }
    dispatch()
  }

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

  const dispatch = (): void => {
    for (;;) {
      const runner = waiting.length === 0 ? undefined : freeRunner()
      const job = runner === undefined ? undefined : nextFor(runner)
      if (job === undefined || runner === undefined) return
      leaveQueue(job)
      runner.cancelTimer()
      runner.process.keepAlive(true)
      runner.jobs.set(job.id, job)
      job.tries += 1
      const labels = {
        head: chain.head().hash,
        safe: chain.safe()?.hash,
        finalized: chain.finalized()?.hash,
      }
      runner.process.send(job.task(labels), job.bytes)
    }
  }
  const freeRunner = (): Runner | undefined => {
    const [least] = [...runners].sort((a, b) => a.jobs.size - b.jobs.size)
    if (least !== undefined && least.jobs.size === 0) return least
    if (runners.size < maxProcesses) return start()
    return least !== undefined && least.jobs.size < MAX_RUNNING ? least : undefined
  }
  const nextFor = ({ jobs }: Runner): Job | undefined => {
    // One that nobody waits for any more may still be on its way.
    const hasLarge = [...jobs.values()].some(isLarge)
    return hasLarge ? waiting.find((job) => !isLarge(job)) : waiting[0]
  }

  const onAnswer = (runner: Runner, { id, question, unexpected, error }: CallAnswer, bytes: Uint8Array): void => {
    const job = runner.jobs.get(id)
    if (job === undefined) return
    if (question !== undefined) {
      // What is done for it here is not to be done twice.
      job.tries = TRIES
      job.answerQuestion(bytes).then(
        (answer) => runner.process.send({ kind: 'answer', question }, answer),
        (problem: unknown) => giveUp(job, problem),
      )
      return
    }
    for (const { method, message: err } of unexpected ?? []) {
      logger.error('RPC method failed unexpectedly', { method, err })
    }
    runner.jobs.delete(id)
    freeBytes(job.bytes)
    if (error === undefined) job.resolve(bytes)
    else if (error.isUnexpected) job.reject(new Error(error.message))
    else
      job.reject(new JsonRpcError(error.rpcCode, error.message, error.data === undefined ? {} : { data: error.data }))
    if (runner.jobs.size === 0) rest(runner)
    dispatch()
  }
  const rest = (runner: Runner): void => {
    runner.cancelTimer()
    runner.process.keepAlive(false)
    runner.cancelTimer = clock.setTimeout(() => {
      runners.delete(runner)
      void runner.process.kill()
    }, IDLE_MS)
  }

  /** It may still be running: its process is to end it, or ends itself. */
  const giveUp = (job: Job, reason: unknown): void => {
    job.isGivenUp = true
    job.reject(reason)
    leaveQueue(job)
    // What was begun may still be on its way to a process.
    if (job.tries === 0) freeBytes(job.bytes)
    const runner = [...runners].find(({ jobs }) => jobs.get(job.id) === job)
    if (runner === undefined) return
    runner.process.send({ kind: 'cancel', id: job.id }, NO_BYTES)
    void runner.process.ready.then(() =>
      clock.setTimeout(() => {
        if (runner.jobs.get(job.id) === job) replace(runner, `${job.name} did not end when its time was over`)
      }, graceMs),
    )
  }

  const runJob = async (
    begun: Pick<Job, 'id' | 'name' | 'task' | 'bytes' | 'answerQuestion'>,
    { signal }: RpcContext,
    timeoutMs: number,
  ): Promise<Uint8Array> => {
    if (closed) throw new JsonRpcError(RPC_SERVER_ERROR, 'the program is stopping')
    signal.throwIfAborted()
    if (waiting.length >= MAX_WAITING || waitingBytes + begun.bytes.length > MAX_WAITING_BYTES) {
      throw new JsonRpcError(RPC_LIMIT_EXCEEDED, 'too many calls wait to be run: try again later')
    }
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
    const job: Job = { ...begun, tries: 0, isGivenUp: false, resolve, reject }
    const leave = (): void => giveUp(job, signal.reason)
    signal.addEventListener('abort', leave, { once: true })
    const endTime = () => giveUp(job, timedOutAfter(timeoutMs))
    const cancelTime = timeoutMs === 0 ? () => {} : clock.setTimeout(endTime, timeoutMs)
    wait(job)
    dispatch()
    try {
      return await promise
    } finally {
      signal.removeEventListener('abort', leave)
      cancelTime()
    }
  }

  const close = async (): Promise<void> => {
    closed = true
    const stopping = new JsonRpcError(RPC_SERVER_ERROR, 'the program is stopping')
    for (const job of [...waiting, ...[...runners].flatMap(({ jobs }) => [...jobs.values()])]) job.reject(stopping)
    waiting.length = 0
    for (const { cancelTimer } of runners) cancelTimer()
    await Promise.all([...runners].map(({ process }) => process.kill()))
  }
  whenAborted(signal, () => void close())

  return {
    async run(method, params, context, timeoutMs = 0) {
      const id = ++ids
      const call = {
        id,
        name: method,
        task: (labels: LabelHashes): CallTask => ({ kind: 'call', id, method, labels }),
        bytes: Buffer.from(JSON.stringify(params)),
        answerQuestion: asksNothing,
      }
      return new WrittenJson([await runJob(call, context, timeoutMs)])
    },
    async answerBody(body, context, dispatcher, served) {
      const id = ++ids
      const { signal, foreignOrigin, lacksToken, subscriber } = context
      // Nothing goes ahead: the other process puts the answer together.
      const ofQuestions = { signal, isOver: () => context.isOver(), foreignOrigin, lacksToken, subscriber }
      const request = {
        id,
        name: 'a large body',
        task: (labels: LabelHashes): CallTask => ({ kind: 'body', id, labels, served }),
        bytes: body,
        async answerQuestion(question: Uint8Array) {
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
    stats: () => ({
      running: [...runners].reduce((sum, { jobs }) => sum + jobs.size, 0),
      waiting: waiting.length,
      broken,
    }),
    close,
  }
}

function isLarge({ name, bytes }: Job): boolean {
  return bytes.length > LARGE_BYTES || isLong(name)
}

function asksNothing(): Promise<Uint8Array> {
  throw new Error('a single call asks nothing of the program')
}

const decoder = new TextDecoder()

const NO_BYTES = new Uint8Array(0)
const OWN_FILE = programFile('callMain', import.meta.url)
