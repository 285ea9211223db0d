import { concatBytes } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { exponentialBackoff } from '../retry.ts'
import { whenAborted } from '../untilAborted.ts'
import { programFile } from '../workProcess/programFile.ts'
import { createSupervisor } from '../workProcess/supervisor.ts'
import { startWorkProcess, type WorkProcess } from '../workProcess/workProcess.ts'
import { blobFault, CELLS_PER_BLOB, KZG_POINT_BYTES, type Kzg, KzgError } from './kzg.ts'
import { cut, type KzgAnswer, type KzgOperation, type KzgTask } from './kzgTask.ts'

/** From one answer to the next while something is asked: cell proofs of six blobs take 1.5 s on one core. */
const STUCK_MS = 30_000
/** For the process to load the library: 1.5 s, on a machine that is overloaded many times that. */
const LOADING_MS = 60_000
/** How often one piece of work is begun: the process may have died for reasons of its own. */
const TRIES = 2
/** Of commitment, z, y and proof. */
const POINT_PROOF_BYTES = [KZG_POINT_BYTES, 32, 32, KZG_POINT_BYTES]

export interface KzgModules {
  clock: Clock
  logger: Logger
  /** Closes it. */
  signal?: AbortSignal | undefined
}

export interface KzgOptions {
  startChild?: (onAnswer: (answer: KzgAnswer, bytes: Uint8Array) => void) => WorkProcess<KzgTask>
  stuckMs?: number
}

interface Job {
  task: KzgTask
  bytes: Uint8Array
  /** Processes that it was given to. */
  tries: number
  resolve(answer: { holds: boolean; points: Uint8Array }): void
  reject(error: KzgError): void
}

/**
 * KZG in another process, which starts with the first call, keeps this one alive only while something is asked, and is
 * replaced when it dies or hangs. Why it is no thread: `WorkProcess`.
 */
export function createKzg({ clock, logger, signal }: KzgModules, options: KzgOptions = {}): Kzg {
  const { startChild = startOwnChild, stuckMs = STUCK_MS } = options
  const jobs = new Map<number, Job>()
  let isReady = false
  let tasks = 0
  let closed = false
  let cancelStuck: (() => void) | undefined

  /** Counts the time to the next answer, if one is awaited. */
  const watch = (): void => {
    cancelStuck?.()
    cancelStuck = undefined
    if (!isReady || jobs.size === 0) return
    cancelStuck = clock.setTimeout(() => processes.giveUp(`no answer in ${stuckMs} ms`), stuckMs)
  }
  const processes = createSupervisor<KzgTask, KzgAnswer>(
    {
      clock,
      startChild,
      onAnswer: (answer, points) => onAnswer(answer, points),
      onBreakdown(how, why) {
        isReady = false
        watch()
        const code = how === 'ended' ? 'kzg-process-failed' : 'kzg-timed-out'
        logger.warn('The process that computes KZG broke down', { code, why })
        for (const job of [...jobs.values()]) {
          if (code === 'kzg-timed-out' || job.tries >= TRIES) finish(job, new KzgError(code, `KZG: ${why}`))
        }
        sendAll()
      },
      onPauseOver: () => sendAll(),
      onReady() {
        isReady = true
        watch()
      },
    },
    { loadingMs: LOADING_MS, pauseMs: exponentialBackoff(100, 10_000) },
  )

  const send = (job: Job): void => {
    const child = processes.get()
    if (child === undefined) return
    child.keepAlive(true)
    job.tries += 1
    child.send(job.task, job.bytes)
    if (cancelStuck === undefined) watch()
  }
  const sendAll = (): void => {
    for (const job of jobs.values()) send(job)
  }
  const finish = (job: Job, result: KzgError | { holds: boolean; points: Uint8Array }): void => {
    jobs.delete(job.task.task)
    if (jobs.size === 0) processes.keepAlive(false)
    if (result instanceof KzgError) job.reject(result)
    else job.resolve(result)
  }
  const onAnswer = (answer: KzgAnswer, points: Uint8Array): void => {
    const job = jobs.get(answer.task)
    if (job === undefined) return
    if ('fault' in answer) finish(job, new KzgError('kzg-bad-input', `KZG ${job.task.operation}: ${answer.fault}`))
    else finish(job, { holds: answer.holds === true, points })
    watch()
  }

  const run = (operation: KzgOperation, blobs: readonly Uint8Array[], ...points: (readonly Uint8Array[])[]) => {
    if (closed) return Promise.reject(closedError())
    const { promise, resolve, reject } = Promise.withResolvers<{ holds: boolean; points: Uint8Array }>()
    tasks += 1
    const bytes = concatBytes(...blobs, ...points.flat())
    const job: Job = { task: { task: tasks, operation, blobs: blobs.length }, bytes, tries: 0, resolve, reject }
    jobs.set(tasks, job)
    send(job)
    return promise
  }
  const computePoints = async (
    operation: KzgOperation,
    blobs: readonly Uint8Array[],
    ...given: (readonly Uint8Array[])[]
  ): Promise<Uint8Array> => {
    const fault = inputFault(blobs, given)
    if (fault !== undefined) throw new KzgError('kzg-bad-input', `KZG ${operation}: ${fault}`)
    if (blobs.length === 0) return new Uint8Array(0)
    return (await run(operation, blobs, ...given)).points
  }

  const close = async (): Promise<void> => {
    closed = true
    for (const job of [...jobs.values()]) finish(job, closedError())
    watch()
    await processes.close()
  }
  whenAborted(signal, () => void close())

  return {
    async commitments(blobs) {
      return cut(await computePoints('commitments', blobs), 0, blobs.length, KZG_POINT_BYTES)
    },
    async blobProofs(blobs, commitments) {
      return cut(await computePoints('blobProofs', blobs, commitments), 0, blobs.length, KZG_POINT_BYTES)
    },
    async verifyBlobProofs(blobs, commitments, proofs) {
      if (inputFault(blobs, [commitments, proofs]) !== undefined) return false
      return blobs.length === 0 || (await run('verifyBlobProofs', blobs, commitments, proofs)).holds
    },
    async verifyPointProof(commitment, z, y, proof) {
      const isWhole = [commitment, z, y, proof].every(({ length }, index) => length === POINT_PROOF_BYTES[index])
      return isWhole && (await run('verifyPointProof', [], [commitment, z, y, proof])).holds
    },
    async cellProofs(blobs) {
      const points = await computePoints('cellProofs', blobs)
      const perBlob = cut(points, 0, blobs.length, CELLS_PER_BLOB * KZG_POINT_BYTES)
      return perBlob.map((proofs) => cut(proofs, 0, CELLS_PER_BLOB, KZG_POINT_BYTES))
    },
    start() {
      processes.get()
    },
    close,
  }
}

function inputFault(blobs: readonly Uint8Array[], points: readonly (readonly Uint8Array[])[]): string | undefined {
  for (const [index, blob] of blobs.entries()) {
    const fault = blobFault(blob)
    if (fault !== undefined) return `blob ${index}: ${fault}`
  }
  for (const list of points) {
    if (list.length !== blobs.length) return `${list.length} commitments or proofs for ${blobs.length} blobs`
    const index = list.findIndex((point) => point.length !== KZG_POINT_BYTES)
    if (index >= 0) return `commitment or proof ${index}: ${list[index]?.length} bytes, expected ${KZG_POINT_BYTES}`
  }
  return undefined
}

const closedError = (): KzgError => new KzgError('kzg-process-failed', 'KZG: the program is stopping')

function startOwnChild(onAnswer: (answer: KzgAnswer, bytes: Uint8Array) => void): WorkProcess<KzgTask> {
  const file = programFile('kzgMain', import.meta.url)
  return startWorkProcess(file, onAnswer)
}
