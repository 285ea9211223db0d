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
  { name: 'start', method: 'admin_startBatcher', description: 'Post batches again', done: 'posting batches' },
  {
    name: 'stop',
    method: 'admin_stopBatcher',
    description: 'Post what is loaded, wait for its confirmations, then post no more; goes on when interrupted',
    done: 'stopped: what was loaded is on L1',
  },
  {
    name: 'flush',
    method: 'admin_flushBatcher',
    description: 'Close the open channel, and post it without waiting for more blocks',
    done: 'the open channel is closed and goes out',
  },
] as const

/** `devium batcher …`: calls a running batch submitter, whose admin methods must be enabled. */
export function addBatcherCommands(program: Command): void {
  const group = program
    .command('batcher')
    .description('Look at a running batch submitter, start and stop it')
    .helpOption('--help', 'Show this help')
  rpcCommand(
    group,
    'status',
    'Why nothing lands on L1, or that all is well: what is loaded, open, sent, and what it costs',
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
