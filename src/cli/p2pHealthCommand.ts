import type { Command } from 'commander'
import { formatHealth } from './healthView.ts'
import { type NodeOptions, nodeCommand, withNode } from './nodeCommand.ts'
import { printJson } from './printJson.ts'
import { terminalWidth } from './table.ts'

/** `devium p2p health`. */
export function addHealth(parent: Command): Command {
  return nodeCommand(parent, 'health', 'Whether blocks come by gossip, and if not, why and what to do about it')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (node) => {
        const health = await node.request('deviump2p_health', [])
        if (options.json) return printJson(health)
        console.log(formatHealth(health, Date.now(), terminalWidth()))
      })
    })
}
