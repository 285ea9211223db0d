import type { Command } from 'commander'
import { terminalWidth } from '../../shared/table.ts'
import { printLines } from '../../shared/terminal/printLines.ts'
import { type NodeOptions, nodeCommand, withNode } from '../nodeCommand.ts'
import { printJson } from '../printJson.ts'
import { healthSchema, verdictLines, verdictOptions } from '../status/verdictView.ts'
import { formatHealth } from './healthView.ts'

export function addHealth(parent: Command): Command {
  return nodeCommand(parent, 'health', 'Show the health of the node and of gossip, with causes and remedies')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (node) => {
        const gossip = await node.request('deviump2p_health', [])
        if (options.json) return printJson(gossip)
        const verdict = healthSchema.parse(await node.request('devium_health', []))
        printLines([...verdictLines(verdict, verdictOptions(options)), ''])
        console.log(formatHealth(gossip, Date.now(), terminalWidth()))
      })
    })
}
