import { Command } from 'commander'
import { UsageError } from '../lib/errors.ts'
import type { JsonValue } from '../lib/jsonRpc/types.ts'
import { addBatcherCommands } from './batcherCommands.ts'
import { addBundleCommands } from './bundleCommand.ts'
import { addDecode } from './decode/decodeCommand.ts'
import { addDeriveCommands } from './deriveCommand.ts'
import { addDoctor } from './doctor/doctorCommand.ts'
import { addNetworksCommands } from './networksCommand.ts'
import { type NodeOptions, nodeCommand, RPC_HELP, withNode } from './nodeCommand.ts'
import { addP2pCommands } from './p2pCommands.ts'
import { printJson } from './printJson.ts'
import { onOneLine } from './program.ts'
import { addSequencerCommands } from './sequencerCommands.ts'
import { addStatus } from './statusCommand.ts'
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

  addStatus(program)
  addDoctor(program)
  addWatch(program)
  addP2pCommands(program)
  addDeriveCommands(program)
  addDecode(program)
  addSequencerCommands(program)
  addBatcherCommands(program)
  addNetworksCommands(program)
  addBundleCommands(program)

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
