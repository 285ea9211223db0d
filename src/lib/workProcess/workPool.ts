import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { whenAborted } from '../untilAborted.ts'
import type { WorkProcess } from './workProcess.ts'

/**
 * Why a job has no answer: its process ended, did not load in time, or did not answer in time, or the pool was closed.
 */
export type Breakdown = 'ended' | 'not-ready' | 'stuck' | 'closed'

export interface WorkJob<Task, Answer> {
  /** The task, with the id that its answers carry. Called once for each process that gets the job. */
  task(id: number): Task
  /** Must not change until the job has ended. */
  bytes: Uint8Array
  /** Returns whether this was the job's last answer. */
  onAnswer(answer: Answer, bytes: Uint8Array): boolean
  /** The job will get no answer. */
  onLost(how: Breakdown, why: string): void
}

export interface WorkQueue<Job> {
  take(): Job | undefined
  putBack(job: Job): void
}

export interface WorkPoolModules<Task, Answer, Job> {
  clock: Clock
  logger: Logger
  /** Closes the pool. */
  signal?: AbortSignal | undefined
  queue: WorkQueue<Job>
  startChild(onAnswer: (answer: Answer, bytes: Uint8Array) => void): WorkProcess<Task>
}

export interface WorkPoolLimits {
  /** Completes the log line "The process that …". */
  work: string
  /** Maximum number of jobs that a process has at a time. Default: unlimited. */
  jobsPerProcess?: number
  /** Time limit for loading the modules; an overloaded machine needs much more than an idle machine. */
  loadingMs: number
  /** A process that has jobs but gives no answer for this time is replaced. Default: no limit. */
  stuckMs?: number
  /** Number of processes that get a job if each of them ends. Default: 1. */
  tries?: number
  /**
   * Pause before the next process starts, after `inVain` processes in a row broke down without an answer. There is no
   * pause after the first breakdown.
   */
  pauseMs(inVain: number): number
}

interface Worker<Task, Job> {
  process: WorkProcess<Task>
  isReady: boolean
  jobs: Map<number, Job>
  /** The timer for loading, or for the next answer. */
  cancelTimer(): void
}

/**
 * Runs jobs in a child process. The process starts with the first job and is replaced when it breaks down. It keeps
 * this program alive only while it has jobs. `WorkProcess` says why this is a process and not a thread.
 */
export class WorkPool<Task, Answer extends { id: number }, Job extends WorkJob<Task, Answer>> {
  private readonly modules: WorkPoolModules<Task, Answer, Job>
  private readonly limits: WorkPoolLimits
  private worker: Worker<Task, Job> | undefined
  private readonly triesOf = new WeakMap<Job, number>()
  private ids = 0
  /** Processes in a row that broke down before their first answer. */
  private inVain = 0
  private cancelPause: (() => void) | undefined
  private closed = false
  private closing: Promise<void> | undefined

  constructor(modules: WorkPoolModules<Task, Answer, Job>, limits: WorkPoolLimits) {
    this.modules = modules
    this.limits = limits
    whenAborted(modules.signal, () => void this.close())
  }

  /** Starts a process before the first job. */
  start(): void {
    if (this.mayStart) this.startWorker()
  }

  /** Call this when the queue has a new job. */
  dispatch(): void {
    for (;;) {
      const isFull = (this.worker?.jobs.size ?? 0) >= (this.limits.jobsPerProcess ?? Infinity)
      if (!this.closed && (isFull || (this.worker === undefined && !this.mayStart))) return
      const job = this.modules.queue.take()
      if (job === undefined) return
      if (this.closed) job.onLost('closed', STOPPING)
      else this.give(job, this.worker ?? this.startWorker())
    }
  }

  /** Ends the process and starts no other. Waiting and later jobs are lost. Resolves when the process has ended. */
  close(): Promise<void> {
    this.closing ??= this.end()
    return this.closing
  }

  private async end(): Promise<void> {
    this.closed = true
    this.cancelPause?.()
    const { worker } = this
    this.worker = undefined
    worker?.cancelTimer()
    for (const job of worker?.jobs.values() ?? []) job.onLost('closed', STOPPING)
    this.dispatch()
    await worker?.process.kill()
  }

  private get mayStart(): boolean {
    return !this.closed && this.cancelPause === undefined && this.worker === undefined
  }

  private give(job: Job, worker: Worker<Task, Job>): void {
    this.ids += 1
    worker.jobs.set(this.ids, job)
    this.triesOf.set(job, (this.triesOf.get(job) ?? 0) + 1)
    worker.process.keepAlive(true)
    worker.process.send(job.task(this.ids), job.bytes)
    if (worker.jobs.size === 1) this.watch(worker)
  }

  private startWorker(): Worker<Task, Job> {
    const { clock, startChild } = this.modules
    const { loadingMs } = this.limits
    const worker: Worker<Task, Job> = {
      process: startChild((answer, bytes) => this.onAnswer(worker, answer, bytes)),
      isReady: false,
      jobs: new Map(),
      cancelTimer: clock.setTimeout(() => this.replace(worker, 'not-ready', `not ready in ${loadingMs} ms`), loadingMs),
    }
    this.worker = worker
    void worker.process.ready.then(() => {
      worker.isReady = true
      this.watch(worker)
    })
    void worker.process.ended.then((why) => this.replace(worker, 'ended', why))
    return worker
  }

  private watch(worker: Worker<Task, Job>): void {
    if (!worker.isReady || this.worker !== worker) return
    const { stuckMs } = this.limits
    worker.cancelTimer()
    if (worker.jobs.size === 0 || stuckMs === undefined) return
    worker.cancelTimer = this.modules.clock.setTimeout(
      () => this.replace(worker, 'stuck', `no answer in ${stuckMs} ms`),
      stuckMs,
    )
  }

  private onAnswer(worker: Worker<Task, Job>, answer: Answer, bytes: Uint8Array): void {
    const job = worker.jobs.get(answer.id)
    if (job === undefined || this.worker !== worker) return
    this.inVain = 0
    if (job.onAnswer(answer, bytes)) worker.jobs.delete(answer.id)
    if (worker.jobs.size === 0) worker.process.keepAlive(false)
    this.watch(worker)
    this.dispatch()
  }

  private replace(worker: Worker<Task, Job>, how: Breakdown, why: string): void {
    if (this.worker !== worker) return
    this.worker = undefined
    const { clock, logger, queue } = this.modules
    const { work, tries = 1, pauseMs } = this.limits
    worker.cancelTimer()
    void worker.process.kill()
    logger.warn(`The process that ${work} broke down`, { how, why, jobs: worker.jobs.size })
    if (this.inVain > 0) {
      this.cancelPause?.()
      this.cancelPause = clock.setTimeout(() => {
        this.cancelPause = undefined
        this.dispatch()
      }, pauseMs(this.inVain))
    }
    this.inVain += 1
    for (const job of worker.jobs.values()) {
      const isLost = how !== 'ended' || (this.triesOf.get(job) ?? 0) >= tries
      if (isLost) job.onLost(how, why)
      else queue.putBack(job)
    }
    this.dispatch()
  }
}

const STOPPING = 'the program is stopping'
