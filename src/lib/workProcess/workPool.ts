import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { whenAborted } from '../untilAborted.ts'
import type { WorkProcess } from './workProcess.ts'

/** Why a job has no answer: its process ended, did not load in time, or did not answer in time; or the pool was closed. */
export type Breakdown = 'ended' | 'not-ready' | 'stuck' | 'closed'

export interface WorkJob<Task, Answer> {
  /** The task, with the id that its answers have. Called for each process that gets the job. */
  task(id: number): Task
  /** Not to change until the job is over. */
  bytes: Uint8Array
  /** Returns whether this was the last answer. */
  onAnswer(answer: Answer, bytes: Uint8Array): boolean
  /** The job will get no answer. */
  onLost(how: Breakdown, why: string): void
}

export interface WorkQueue<Job> {
  /** Removes the next job. */
  take(): Job | undefined
  /** Takes a job back whose process has ended. */
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
  /** For the log: "the process that …". */
  work: string
  /** That the process has at a time. Default: all. */
  jobsPerProcess?: number
  /** For a process to load what it needs, on a machine that is overloaded. */
  loadingMs: number
  /** A process that has jobs but gives no answer for this time is replaced. Default: never. */
  stuckMs?: number
  /** How many processes get a job when each of them ends. Default: one. */
  tries?: number
  /** Before another process starts, after so many in a row that broke down before they had answered. The first one has no pause. */
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
 * Runs jobs in a process that starts with the first job, keeps this program alive only while it has jobs, and is replaced
 * when it breaks down. Why a process and not a thread: `WorkProcess`.
 */
export class WorkPool<Task, Answer extends { id: number }, Job extends WorkJob<Task, Answer>> {
  private readonly modules: WorkPoolModules<Task, Answer, Job>
  private readonly limits: WorkPoolLimits
  private worker: Worker<Task, Job> | undefined
  private readonly triesOf = new WeakMap<Job, number>()
  private ids = 0
  /** Processes in a row that broke down before they had answered. */
  private inVain = 0
  private cancelPause: (() => void) | undefined
  private closed = false

  constructor(modules: WorkPoolModules<Task, Answer, Job>, limits: WorkPoolLimits) {
    this.modules = modules
    this.limits = limits
    whenAborted(modules.signal, () => void this.close())
  }

  /** Starts a process before there is a job for it. */
  start(): void {
    if (this.mayStart) this.startWorker()
  }

  /** To be called when the queue has a new job. */
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

  /** Ends the process and starts no other. Waiting jobs are lost, as are those that come later. */
  async close(): Promise<void> {
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
