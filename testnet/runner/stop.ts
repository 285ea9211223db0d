import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { describeError } from '../../src/lib/errors.ts'
import type { ManagedProcess } from '../process/managedProcess.ts'
import type { Emit } from './events.ts'

export interface RunningParts {
  batcherAdmin: RpcClient
  batcher: ManagedProcess | undefined
  rollupNodes: readonly (ManagedProcess | undefined)[]
  geths: readonly (ManagedProcess | undefined)[]
  l1: ManagedProcess | undefined
  /** Stops L1's consensus client, if L1 has one. */
  endL1Blocks: () => Promise<void>
}

/** The line that the batch submitter prints when all its data is on L1. */
const BATCHER_STOPPED = 'Batch Submitter stopped'
/** Several L1 blocks may pass until the last batch is confirmed. */
const DRAIN_TIMEOUT_MS = 30_000
const EXIT_TIMEOUT_MS = 15_000

/**
 * Stops in the documented order. The batch submitter first posts its data to L1. Then rollup nodes stop, then execution clients
 * by an interrupt, and L1 last. Programs that do not run, or that fail, are skipped. Never rejects.
 */
export async function stopInOrder(emit: Emit, parts: RunningParts): Promise<void> {
  await drainBatcher(emit, parts)
  await stopAll(emit, [parts.batcher], 'SIGTERM')
  await stopAll(emit, parts.rollupNodes, 'SIGTERM')
  await stopAll(emit, parts.geths, 'SIGINT')
  await parts.endL1Blocks()
  await stopAll(emit, [parts.l1], 'SIGINT')
}

async function drainBatcher(
  emit: Emit,
  { batcher, batcherAdmin, rollupNodes, geths, l1 }: RunningParts,
): Promise<void> {
  if (batcher?.running !== true) return
  // If a program it needs has ended, the submitter would wait in vain.
  const sequencer = [rollupNodes[0], geths[0], l1]
  if (sequencer.some((part) => part?.running !== true)) return
  try {
    await batcherAdmin.request('admin_stopBatcher', [], { timeoutMs: DRAIN_TIMEOUT_MS })
    await batcher.outputHas(BATCHER_STOPPED, DRAIN_TIMEOUT_MS)
    emit({ event: 'stopped-part', what: 'batches saved to l1' })
  } catch (error) {
    emit({ event: 'warning', message: `the batch submitter did not stop by RPC: ${describeError(error)}` })
  }
}

async function stopAll(
  emit: Emit,
  processes: readonly (ManagedProcess | undefined)[],
  signal: NodeJS.Signals,
): Promise<void> {
  await Promise.all(
    processes.map(async (process) => {
      if (process?.running !== true) return
      const willing = await process.stop(signal, EXIT_TIMEOUT_MS)
      if (willing) emit({ event: 'stopped-part', what: process.name })
      else emit({ event: 'warning', message: `${process.name} did not end within ${EXIT_TIMEOUT_MS / 1000} s: killed` })
    }),
  )
}
