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
  /** The job has had an effect, or nobody wants it any more: no other process gets it. */
  isFinal?: boolean
  /** Returns whether this was the last answer. */
  onAnswer(answer: Answer, bytes: Uint8Array): boolean
  /** The job will get no answer. */
  onLost(how: Breakdown, why: string): void
}

export interface WorkQueue<Job> {
  /** Removes the next job for a process that runs these jobs. */
  take(running: readonly Job[]): Job | undefined
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
  /** Default: one. */
  processes?: number
  /** That one process has at a time. Default: all. */
  jobsPerProcess?: number
  /** For a process to load what it needs, on a machine that is overloaded. */
  loadingMs: number
  /** A process without jobs ends after this time. Default: never. */
  idleMs?: number
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
  /** The timer for loading, for the next answer, or for the next job. */
  cancelTimer(): void
}

/**
 * Runs jobs in processes that start with the first job, keep this program alive only while they have jobs, and are replaced
 * when they break down. Why processes and not threads: `WorkProcess`.
 */
export class WorkPool<Task, Answer extends { id: number }, Job extends WorkJob<Task, Answer>> {
  private readonly modules: WorkPoolModules<Task, Answer, Job>
  private readonly limits: WorkPoolLimits
  private readonly workers = new Set<Worker<Task, Job>>()
  private readonly triesOf = new WeakMap<Job, number>()
  private ids = 0
  private broken = 0
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
    if (this.mayStart && this.workers.size === 0) this.startWorker()
  }

  /** To be called when the queue has a new job. */
  dispatch(): void {
    for (;;) {
      const [least] = [...this.workers].sort((a, b) => a.jobs.size - b.jobs.size)
      const hasRoom = least !== undefined && least.jobs.size < (this.limits.jobsPerProcess ?? Infinity)
      const place = hasRoom && (least.jobs.size === 0 || !this.mayStart) ? least : undefined
      if (place === undefined && !this.mayStart && !this.closed) return
      const job = this.modules.queue.take([...(place?.jobs.values() ?? [])])
      if (job === undefined) return
      if (this.closed) job.onLost('closed', STOPPING)
      else this.give(job, place ?? this.startWorker())
    }
  }

  /** Sends another task to the process that has the job. Undefined if no process has the job, else when it has loaded. */
  tell(job: Job, task: (id: number) => Task, bytes: Uint8Array): Promise<void> | undefined {
    for (const { process, jobs } of this.workers) {
      for (const [id, given] of jobs) {
        if (given !== job) continue
        process.send(task(id), bytes)
        return process.ready
      }
    }
    return undefined
  }

  /** Replaces the process that still has the job, for the job's sake: its other jobs are begun again. */
  endProcessOf(job: Job, why: string): void {
    for (const worker of this.workers) if ([...worker.jobs.values()].includes(job)) this.replace(worker, 'ended', why)
  }

  /** Jobs that processes have, and processes that broke down. */
  stats(): { running: number; broken: number } {
    return { running: [...this.workers].reduce((sum, { jobs }) => sum + jobs.size, 0), broken: this.broken }
  }

  /** Ends the processes and starts no other. Waiting jobs are lost, as are those that come later. */
  async close(): Promise<void> {
    this.closed = true
    this.cancelPause?.()
    const workers = [...this.workers]
    this.workers.clear()
    for (const { jobs, cancelTimer } of workers) {
      cancelTimer()
      for (const job of jobs.values()) job.onLost('closed', STOPPING)
    }
    this.dispatch()
    await Promise.all(workers.map(({ process }) => process.kill()))
  }

  private get mayStart(): boolean {
    return !this.closed && this.cancelPause === undefined && this.workers.size < (this.limits.processes ?? 1)
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
    this.workers.add(worker)
    void worker.process.ready.then(() => {
      worker.isReady = true
      this.watch(worker)
    })
    void worker.process.ended.then((why) => this.replace(worker, 'ended', why))
    return worker
  }

  private watch(worker: Worker<Task, Job>): void {
    if (!worker.isReady || !this.workers.has(worker)) return
    const { idleMs, stuckMs } = this.limits
    const isIdle = worker.jobs.size === 0
    const ms = isIdle ? idleMs : stuckMs
    worker.cancelTimer()
    if (ms === undefined) return
    worker.cancelTimer = this.modules.clock.setTimeout(() => {
      if (!isIdle) this.replace(worker, 'stuck', `no answer in ${ms} ms`)
      else if (this.workers.delete(worker)) void worker.process.kill()
    }, ms)
  }

  private onAnswer(worker: Worker<Task, Job>, answer: Answer, bytes: Uint8Array): void {
    const job = worker.jobs.get(answer.id)
    if (job === undefined || !this.workers.has(worker)) return
    this.inVain = 0
    if (job.onAnswer(answer, bytes)) worker.jobs.delete(answer.id)
    if (worker.jobs.size === 0) worker.process.keepAlive(false)
    this.watch(worker)
    this.dispatch()
  }

  private replace(worker: Worker<Task, Job>, how: Breakdown, why: string): void {
    if (!this.workers.delete(worker)) return
    const { clock, logger, queue } = this.modules
    const { work, tries = 1, pauseMs } = this.limits
    worker.cancelTimer()
    void worker.process.kill()
    this.broken += 1
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
      const isLost = how !== 'ended' || job.isFinal === true || (this.triesOf.get(job) ?? 0) >= tries
      if (isLost) job.onLost(how, why)
      else queue.putBack(job)
    }
    this.dispatch()
  }
}

const STOPPING = 'the program is stopping'
