import { concatBytes } from '../bytes.ts'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { exponentialBackoff } from '../retry.ts'
import { programFile } from '../workProcess/programFile.ts'
import { type WorkJob, WorkPool } from '../workProcess/workPool.ts'
import { startWorkProcess, type WorkProcess } from '../workProcess/workProcess.ts'
import { blobFault, CELLS_PER_BLOB, KZG_POINT_BYTES, type Kzg, KzgError } from './kzg.ts'
import { cut, type KzgAnswer, type KzgOperation, type KzgTask } from './kzgTask.ts'

const PROGRAM = programFile('kzgMain', import.meta.url)
/** Maximum time between two answers while work is pending: cell proofs of six blobs take 1.5 s on one core. */
const STUCK_MS = 30_000
/** Time limit for loading the library. Loading takes 1.5 s, and many times longer on an overloaded machine. */
const LOADING_MS = 60_000
/** How often one job is started: the process may have died for an unrelated reason. */
const TRIES = 2
/** Lengths of commitment, z, y and proof. */
const POINT_PROOF_BYTES = [KZG_POINT_BYTES, 32, 32, KZG_POINT_BYTES]

export interface KzgModules {
  clock: Clock
  logger: Logger
  /** Aborting closes the process. */
  signal?: AbortSignal | undefined
}

export interface KzgOptions {
  startChild?: (onAnswer: (answer: KzgAnswer, bytes: Uint8Array) => void) => WorkProcess<KzgTask>
  stuckMs?: number
}

type Job = WorkJob<KzgTask, KzgAnswer>

/** Computes KZG in a separate process, which starts with the first call. */
export function createKzg({ clock, logger, signal }: KzgModules, options: KzgOptions = {}): Kzg {
  const { startChild = (onAnswer) => startWorkProcess(PROGRAM, onAnswer), stuckMs = STUCK_MS } = options
  const waiting: Job[] = []
  const queue = { take: () => waiting.shift(), putBack: (job: Job) => void waiting.push(job) }
  const pool = new WorkPool<KzgTask, KzgAnswer, Job>(
    { clock, logger, signal, queue, startChild },
    {
      work: 'computes KZG',
      loadingMs: LOADING_MS,
      stuckMs,
      tries: TRIES,
      pauseMs: exponentialBackoff(100, 10_000),
    },
  )

  const run = (operation: KzgOperation, blobs: readonly Uint8Array[], ...points: (readonly Uint8Array[])[]) =>
    new Promise<{ holds: boolean; points: Uint8Array }>((resolve, reject) => {
      waiting.push({
        task: (id) => ({ id, operation, blobs: blobs.length }),
        bytes: concatBytes(...blobs, ...points.flat()),
        onAnswer(answer, points) {
          if ('fault' in answer) reject(new KzgError('kzg-bad-input', `KZG ${operation}: ${answer.fault}`))
          else resolve({ holds: answer.holds === true, points })
          return true
        },
        onLost(how, why) {
          const code = how === 'stuck' || how === 'not-ready' ? 'kzg-timed-out' : 'kzg-process-failed'
          reject(new KzgError(code, `KZG: ${why}`))
        },
      })
      pool.dispatch()
    })
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
    start: () => pool.start(),
    close: () => pool.close(),
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
