import type { Command } from 'commander'
import { UsageError } from '../lib/errors.ts'
import { p2pFlags } from './p2pFlags.ts'
import { createProgram, runProgram } from './program.ts'
import { rollupNodeFlags } from './rollupNodeFlags.ts'
import { VERSION } from './version.ts'

function createRollupNodeCommand(): Command {
  const program = createProgram({
    name: 'devium--batcher',
    description: 'OP Stack rollup node: derives the L2 chain from L1, sequences it, and gossips its blocks',
    version: VERSION,
    envPrefixes: ['DEVIUM_NODE', 'OP_NODE'],
    flags: { ...rollupNodeFlags, ...p2pFlags },
    run: async (values, context) => {
      // What the node is made of takes longer to load than --help may take.
      const { runRollupNode } = await import('./runRollupNode.ts')
      await runRollupNode(values, context)
    },
  })
  const networks = program.command('networks').description('The built-in registry of networks')
  networks
    .command('dump-rollup-config')
    .description("Print a network's rollup config as JSON")
    .helpOption('--help', 'Show this help')
    .option('--network <name>', 'Network of the built-in registry')
    .action(async (options: { network?: string }, command: Command) => {
      // The program's own flag of the same name takes the value when it stands before the sub-command.
      const network = options.network ?? command.optsWithGlobals<{ network?: string }>().network
      if (network === undefined) throw new UsageError('--network is required: the network whose config to print')
      const { dumpRollupConfig } = await import('../rollup/networks/index.ts')
      process.stdout.write(`${JSON.stringify(dumpRollupConfig(network), null, 2)}\n`)
    })
  return program
}

await runProgram(createRollupNodeCommand())
