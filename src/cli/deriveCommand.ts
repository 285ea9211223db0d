import type { Command } from 'commander'
import { formatDerivation } from './deriveView.ts'
import { type NodeOptions, nodeCommand, RPC_HELP, withNode } from './nodeCommand.ts'
import { printJson } from './printJson.ts'
import { terminalWidth } from './table.ts'

/** `devium derive`: what derivation is doing. */
export function addDeriveCommands(program: Command): void {
  const derive = program
    .command('derive')
    .description('How the L2 chain is derived from L1')
    .helpOption('--help', 'Show this help')
    .addHelpText('after', `\n${RPC_HELP}`)
  nodeCommand(derive, 'status', 'Why the safe head stands where it does, and what it waits for')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (node) => {
        const status = await node.request('devium_derivationStatus', [])
        if (options.json) return printJson(status)
        console.log(formatDerivation(status, Date.now(), terminalWidth()))
      })
    })
}
