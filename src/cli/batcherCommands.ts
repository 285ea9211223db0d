import type { Command } from 'commander'
import { formatBatcherStatus } from './batcherView.ts'
import { type NodeOptions, withNode } from './nodeCommand.ts'
import { printJson } from './printJson.ts'

const DEFAULT_RPC = 'http://127.0.0.1:8545'

/** `devium batcher …`: asks a running batch submitter, whose admin methods must be enabled. */
export function addBatcherCommands(program: Command): void {
  const group = program
    .command('batcher')
    .description('Look at a running batch submitter')
    .helpOption('--help', 'Show this help')
  group
    .command('status')
    .description('Why nothing lands on L1, or that all is well: what is loaded, open, sent, and what it costs')
    .helpOption('--help', 'Show this help')
    .option(
      '--rpc <url>',
      "The batch submitter's RPC address [DEVIUM_BATCHER_RPC]",
      process.env.DEVIUM_BATCHER_RPC ?? DEFAULT_RPC,
    )
    .option('--token-file <file>', 'File with the bearer token that it asks for [DEVIUM_RPC_TOKEN_FILE]')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (batcher) => {
        const status = await batcher.transport.request('admin_batcherStatus', [])
        if (options.json) printJson(status)
        else console.log(formatBatcherStatus(status))
      })
    })
}
