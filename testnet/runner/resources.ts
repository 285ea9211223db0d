import { statfsSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { UsageError } from '../../src/lib/errors.ts'
import type { DataAvailability } from '../chainParameters.ts'

const MB = 1e6
/** Idle memory of a node's two programs, from `bench/memory.ts` with 3 to 12 nodes; and its share of a core, from `top`. */
const NODE_MEMORY = 165 * MB
const NODE_CORES = 0.06
/** Memory of L1, the batch submitter and the runner. */
const SHARED_MEMORY = 250 * MB
/** Memory of the KZG process of each node and of the batch submitter. */
const BLOB_MEMORY = 75 * MB
/** Disk use of a node on a new chain in its first hour, with logs. */
const NODE_DISK = 20 * MB
const SHARED_DISK = 30 * MB

export interface Machine {
  memoryBytes: number
  /** Undefined if the system does not report how much used memory it can free. */
  freeMemoryBytes: number | undefined
  cores: number
}

export function thisMachine(): Machine {
  const limit = process.constrainedMemory()
  return {
    memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem(),
    // macOS does not count its caches as free.
    freeMemoryBytes: process.platform === 'linux' ? process.availableMemory() : undefined,
    cores: availableParallelism(),
  }
}

interface Size {
  nodes: number
  da: DataAvailability
}

/** Memory of a testnet without user transactions. */
export function memoryOf({ nodes, da }: Size): number {
  return SHARED_MEMORY + nodes * NODE_MEMORY + (da === 'calldata' ? 0 : (nodes + 1) * BLOB_MEMORY)
}

/** Warnings about scarce resources. Throws UsageError if the machine cannot hold this many nodes. */
export function checkMachine({ nodes, da }: Size, { memoryBytes, freeMemoryBytes, cores }: Machine): string[] {
  const needed = memoryOf({ nodes, da })
  if (needed > memoryBytes) {
    const none = memoryOf({ nodes: 0, da })
    const most = Math.max(0, Math.floor((memoryBytes - none) / (memoryOf({ nodes: 1, da }) - none)))
    throw new UsageError(
      `--nodes ${nodes} takes about ${gigabytes(needed)} of memory; this machine has ${gigabytes(memoryBytes)}, enough for ${most}`,
    )
  }
  const warnings: string[] = []
  if (freeMemoryBytes !== undefined && needed > freeMemoryBytes) {
    warnings.push(
      `--nodes ${nodes} takes about ${gigabytes(needed)} of memory; only ${gigabytes(freeMemoryBytes)} are free`,
    )
  }
  if (nodes * NODE_CORES > cores) {
    const busy = Math.ceil(nodes * NODE_CORES)
    warnings.push(`--nodes ${nodes} keeps about ${busy} processor cores busy; this machine has ${cores}`)
  }
  return warnings
}

/** Throws UsageError if the disk is too full for a new chain. */
export function checkDisk(nodes: number, dir: string): void {
  const { bavail, bsize } = statfsSync(dir)
  const needed = SHARED_DISK + nodes * NODE_DISK
  if (bavail * bsize >= needed) return
  const [free, wanted] = [bavail * bsize, needed].map((bytes) => `${Math.floor(bytes / MB)} MB`)
  throw new UsageError(`--dir ${dir}: the disk has ${free} free, a new chain takes about ${wanted}`)
}

export function gigabytes(bytes: number): string {
  return `${(bytes / 1e9).toFixed(1)} GB`
}
