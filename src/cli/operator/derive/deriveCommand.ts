import type { Command } from 'commander'
import { createBatcherReader } from '../../node/batcherReader.ts'
import { terminalWidth } from '../../shared/table.ts'
import { type NodeOptions, nodeCommand, RPC_HELP, withNode } from '../nodeCommand.ts'
import { printJson } from '../printJson.ts'
import { formatDerivation } from './deriveView.ts'

/** `devium derive`: the state of derivation. */
export function addDeriveCommands(program: Command): void {
  const derive = program
    .command('derive')
    .description('Show the derivation of the L2 chain from L1')
    .addHelpText('after', `\n${RPC_HELP}`)
  nodeCommand(derive, 'status', 'Show the position of the safe head, and what derivation waits for')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (node) => {
        const status = await node.request('devium_derivationStatus', [])
        if (options.json) return printJson(status)
        // A node without --dashboard.batcher cannot query the submitter, but this tool can.
        const isWaiting = status.command === null && (status.l2.safe?.number ?? 0) < (status.l2.unsafe?.number ?? 0)
        const command = isWaiting ? await startCommandOfStopped(process.env.DEVIUM_BATCHER_RPC) : undefined
        const known = command === undefined ? status : { ...status, ...stoppedBatcher(status.text, command) }
        console.log(formatDerivation(known, Date.now(), terminalWidth()))
      })
    })
}

function stoppedBatcher(text: string, command: string) {
  return { text: `${text} The batch submitter is stopped.`, command }
}

/** The command that starts the batch submitter at this address, if the submitter reports that it is stopped. */
async function startCommandOfStopped(url: string | undefined): Promise<string | undefined> {
  if (url === undefined || !URL.canParse(url)) return undefined
  const tokenFile = process.env.DEVIUM_RPC_TOKEN_FILE
  const batcher = createBatcherReader({ url, tokenFile: tokenFile === '' ? undefined : tokenFile })
  try {
    const { running } = await batcher.read()
    return running === false ? 'devium batcher start' : undefined
  } catch {
    // The node's answer is complete without it.
    return undefined
  } finally {
    await batcher.close()
  }
}
