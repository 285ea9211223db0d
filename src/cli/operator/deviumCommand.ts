import { Command } from 'commander'
import type { JsonValue } from '../../jsonRpc/types.ts'
import { UsageError } from '../../lib/errors.ts'
import { onOneLine } from '../shared/program.ts'
import { VERSION } from '../shared/version.ts'
import { addBatcherCommands } from './batcher/batcherCommands.ts'
import { addBundleCommands } from './bundleCommand.ts'
import { addDecode } from './decode/decodeCommand.ts'
import { addDeriveCommands } from './derive/deriveCommand.ts'
import { addDoctor } from './doctor/doctorCommand.ts'
import { addNetworksCommands } from './networks/networksCommand.ts'
import { type NodeOptions, nodeCommand, RPC_HELP, withNode } from './nodeCommand.ts'
import { addP2pCommands } from './p2p/p2pCommands.ts'
import { printJson } from './printJson.ts'
import { addSequencerCommands } from './sequencerCommands.ts'
import { addStatus } from './status/statusCommand.ts'
import { addTestnetCommands } from './testnet/testnetCommand.ts'
import { addWatch } from './watch/watchCommand.ts'

/** Creates the operator's tool, which queries a running rollup node and formats its answers. */
export function createDeviumCommand(): Command {
  const program = new Command('devium')
    .description("Operator's tool for running devium nodes: health, peers, derivation, batches")
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
  addTestnetCommands(program)

  nodeCommand(
    program,
    'rpc <method> [params...]',
    'Call any RPC method. A parameter that is not JSON is sent as text',
  ).action(async (method: string, params: string[], options: NodeOptions) => {
    await withNode(options, async (node) => printJson(await node.transport.request(method, params.map(jsonOrText))))
  })

  program
    .command('completion')
    .argument('<shell>', 'bash, zsh or fish')
    .description('Print a shell completion script: source <(devium completion bash)')
    .action(async (shell: string) => {
      const { COMPLETED_SHELLS, completionScript } = await import('./completion.ts')
      const { createRollupNodeCommand } = await import('../node/rollupNodeCommand.ts')
      const { createBatchSubmitterCommand } = await import('../batchSubmitter/batchSubmitterCommand.ts')
      const { createGethCommand } = await import('../geth/gethCommand.ts')
      const rollupNodes = [createRollupNodeCommand(), createRollupNodeCommand().name('devium-node')]
      const programs = [program, ...rollupNodes, createBatchSubmitterCommand(), createGethCommand()]
      const script = completionScript(shell, programs)
      if (script === undefined) {
        throw new UsageError(`unknown shell "${shell}": expected one of ${COMPLETED_SHELLS.join(', ')}`)
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
