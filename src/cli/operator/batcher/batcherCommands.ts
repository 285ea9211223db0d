import type { Command } from 'commander'
import { readVariable } from '../../shared/environment.ts'
import { ProgressLine } from '../../shared/terminal/progressLine.ts'
import { type NodeOptions, type QueriedProgram, rpcCommand, withNode } from '../nodeCommand.ts'
import { printJson } from '../printJson.ts'
import { showDraining } from './batcherDraining.ts'
import { formatBatcherStatus } from './batcherView.ts'

const RPC = {
  description: "The batch submitter's RPC address [DEVIUM_BATCHER_RPC]",
  address: readVariable('DEVIUM_BATCHER_RPC') ?? 'http://127.0.0.1:8545',
}
const BATCH_SUBMITTER: QueriedProgram = { who: 'no batch submitter', variable: 'DEVIUM_BATCHER_RPC' }
/** The submitter posts and confirms all loaded blocks before it answers. */
const STOP_TIMEOUT_MS = 600_000

const ACTIONS = [
  { name: 'start', method: 'admin_startBatcher', description: 'Start posting batches', done: 'posting batches' },
  {
    name: 'stop',
    method: 'admin_stopBatcher',
    description:
      'Post all loaded blocks, wait for their confirmations, and stop. An interrupt of this command does not cancel the stop',
    done: 'stopped: all loaded blocks are on L1',
  },
  {
    name: 'flush',
    method: 'admin_flushBatcher',
    description: 'Close the open channel, and post it without waiting for more blocks',
    done: 'closed the open channel and posting it',
  },
] as const

/** `devium batcher …`: calls a running batch submitter, whose admin methods must be enabled. */
export function addBatcherCommands(program: Command): void {
  const group = program.command('batcher').description('Show, start and stop a running batch submitter')
  rpcCommand(
    group,
    'status',
    'Show the health of the submitter and its cause, loaded blocks, the open channel, transactions and cost',
    RPC,
  )
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(
        options,
        async (batcher) => {
          const status = await batcher.transport.request('admin_batcherStatus', [])
          if (options.json) printJson(status)
          else console.log(formatBatcherStatus(status))
        },
        BATCH_SUBMITTER,
      )
    })
  for (const { name, method, description, done } of ACTIONS) {
    rpcCommand(group, name, description, RPC).action(async (options: NodeOptions) => {
      await withNode(
        options,
        async (batcher) => {
          const { transport } = batcher
          const answer = transport.request(method, [], { timeoutMs: STOP_TIMEOUT_MS })
          if (process.stdout.isTTY) await showDraining(transport, answer, new ProgressLine(process.stdout))
          await answer
          console.log(done)
        },
        BATCH_SUBMITTER,
      )
    })
  }
}
