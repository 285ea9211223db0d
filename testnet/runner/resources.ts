import { statfsSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { UsageError } from '../../src/lib/errors.ts'
import type { DataAvailability } from '../chainParameters.ts'

const MB = 1e6
/** At rest, as `bench/memory.ts` and `top` show them for 3 to 12 nodes: both programs of a node, and a share of a core. */
const NODE_MEMORY = 165 * MB
const NODE_CORES = 0.06
/** L1, the batch submitter, the runner. */
const SHARED_MEMORY = 250 * MB
/** The process for KZG, of each node and the batch submitter. */
const BLOB_MEMORY = 75 * MB
/** Of a new chain in its first hour, logs included. */
const NODE_DISK = 20 * MB
const SHARED_DISK = 30 * MB

/** What the machine has. */
export interface Machine {
  memoryBytes: number
  /** Undefined where the system does not tell how much of what is in use it could free. */
  freeMemoryBytes: number | undefined
  cores: number
}

export function thisMachine(): Machine {
  const limit = process.constrainedMemory()
  return {
    memoryBytes: limit > 0 ? Math.min(limit, totalmem()) : totalmem(),
    // macOS counts as free only what it does not even use as a cache.
    freeMemoryBytes: process.platform === 'linux' ? process.availableMemory() : undefined,
    cores: availableParallelism(),
  }
}

interface Size {
  nodes: number
  da: DataAvailability
}

/** How much memory a testnet takes that nobody sends transactions to. */
export function memoryOf({ nodes, da }: Size): number {
  return SHARED_MEMORY + nodes * NODE_MEMORY + (da === 'calldata' ? 0 : (nodes + 1) * BLOB_MEMORY)
}

/** What will be scarce. Throws UsageError where the machine cannot hold so many nodes at all. */
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

/** Throws UsageError where the disk has no room for a new chain. */
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
