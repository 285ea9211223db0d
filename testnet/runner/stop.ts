import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { describeError } from '../../src/lib/errors.ts'
import type { Emit } from './events.ts'
import { type L1, L1_PROGRAM } from './l1.ts'
import { BATCHER_PROGRAM, gethProgram, nodeProgram } from './programs.ts'
import type { RunningPrograms } from './runningPrograms.ts'

export interface StopModules {
  programs: RunningPrograms
  l1: Pick<L1, 'close'>
  batcherAdmin: RpcClient
  emit: Emit
}

/** The line that the batch submitter prints when all its data is on L1. */
const BATCHER_STOPPED = 'Batch Submitter stopped'
/** Several L1 blocks may pass until the last batch is confirmed. */
const DRAIN_TIMEOUT_MS = 30_000

/**
 * Stops in the documented order. The batch submitter first posts its data to L1. Then rollup nodes stop, then execution clients
 * by an interrupt, and L1 last. The first node is the sequencer. Programs that do not run, or that fail, are skipped. Never
 * rejects.
 */
export async function stopInOrder(modules: StopModules, nodes: readonly string[]): Promise<void> {
  const { programs, l1, emit } = modules
  const stopAll = (names: readonly string[], signal: NodeJS.Signals) =>
    Promise.all(
      names.map(async (name) => {
        if (programs.get(name)?.running !== true) return
        if (await programs.end(name, signal)) emit({ event: 'stopped-part', what: name })
      }),
    )
  await drainBatcher(modules, nodes[0] ?? '')
  await stopAll([BATCHER_PROGRAM], 'SIGTERM')
  await stopAll(nodes.map(nodeProgram), 'SIGTERM')
  await stopAll(nodes.map(gethProgram), 'SIGINT')
  // Stops L1's consensus client, if L1 has one.
  await l1.close()
  await stopAll([L1_PROGRAM], 'SIGINT')
}

async function drainBatcher({ programs, batcherAdmin, emit }: StopModules, sequencer: string): Promise<void> {
  // If a program it needs has ended, the submitter would wait in vain.
  const needed = [BATCHER_PROGRAM, nodeProgram(sequencer), gethProgram(sequencer), L1_PROGRAM]
  if (needed.some((name) => programs.get(name)?.running !== true)) return
  try {
    await batcherAdmin.request('admin_stopBatcher', [], { timeoutMs: DRAIN_TIMEOUT_MS })
    await programs.get(BATCHER_PROGRAM)?.outputHas(BATCHER_STOPPED, DRAIN_TIMEOUT_MS)
    emit({ event: 'stopped-part', what: 'batches saved to l1' })
  } catch (error) {
    emit({ event: 'warning', message: `the batch submitter did not stop by RPC: ${describeError(error)}` })
  }
}
