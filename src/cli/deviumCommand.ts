import { Command } from 'commander'
import { UsageError } from '../lib/errors.ts'
import type { JsonValue } from '../lib/jsonRpc/types.ts'
import { addBatcherCommands } from './batcherCommands.ts'
import { addDecode } from './decode/decodeCommand.ts'
import { addDeriveCommands } from './deriveCommand.ts'
import { addNetworksCommands } from './networksCommand.ts'
import { ifServed, type NodeOptions, nodeCommand, RPC_HELP, readBatcher, withNode } from './nodeCommand.ts'
import { formatStatus } from './nodeViews.ts'
import { addP2pCommands } from './p2pCommands.ts'
import { printJson } from './printJson.ts'
import { onOneLine } from './program.ts'
import { addSequencerCommands } from './sequencerCommands.ts'
import { VERSION } from './version.ts'
import { addWatch } from './watch/watchCommand.ts'

/** The operator's tool: asks a running rollup node and shows the answer to a person. */
export function createDeviumCommand(): Command {
  const program = new Command('devium')
    .description('Look at running devium nodes, and manage their peers')
    .version(VERSION, '--version', 'Print the version')
    .helpOption('--help', 'Show this help')
    .addHelpText('after', `\n${RPC_HELP}`)
    .configureOutput({ outputError: (text, write) => write(`devium: ${onOneLine(text)}`) })

  nodeCommand(program, 'status', 'Heads of both layers, peers, and how far derivation has come')
    .option('--json', 'Print the raw answer')
    .action(async (options: NodeOptions) => {
      await withNode(options, async (node) => {
        const status = await node.request('devium_syncStatus', [])
        if (options.json) return printJson(status)
        const [version, peers, bans, health, derivation, batcher] = await Promise.all([
          node.request('devium_version', []),
          ifServed(node, 'deviump2p_peerStats', []),
          ifServed(node, 'deviump2p_bans', []),
          ifServed(node, 'deviump2p_health', []),
          ifServed(node, 'devium_derivationStatus', []),
          readBatcher(node),
        ])
        console.log(formatStatus({ status, version: String(version), stats: peers, bans, health, derivation, batcher }))
      })
    })

  addWatch(program)
  addP2pCommands(program)
  addDeriveCommands(program)
  addDecode(program)
  addSequencerCommands(program)
  addBatcherCommands(program)
  addNetworksCommands(program)

  nodeCommand(
    program,
    'rpc <method> [params...]',
    'Call any method; parameters are JSON, or text where they are not',
  ).action(async (method: string, params: string[], options: NodeOptions) => {
    await withNode(options, async (node) => printJson(await node.transport.request(method, params.map(jsonOrText))))
  })

  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description('Print a script that completes commands and flags: source <(devium completion bash)')
    .helpOption('--help', 'Show this help')
    .action(async (shell: string) => {
      const { COMPLETED_SHELLS, completionScript } = await import('./completion.ts')
      const { createRollupNodeCommand } = await import('./rollupNodeCommand.ts')
      const { createBatchSubmitterCommand } = await import('./batchSubmitterCommand.ts')
      const { createGethCommand } = await import('./gethCommand.ts')
      const others = [createRollupNodeCommand(), createBatchSubmitterCommand(), createGethCommand()]
      const script = completionScript(shell, [program, ...others])
      if (script === undefined) {
        throw new UsageError(`no completion for "${shell}": there is one for ${COMPLETED_SHELLS.join(', ')}`)
      }
      process.stdout.write(script)
    })

  return program
}

function jsonOrText(text: string): JsonValue {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
