import type { Command } from 'commander'
import { addNetworksCommands } from '../operator/networks/networksCommand.ts'
import { createProgram } from '../shared/program.ts'
import { VERSION } from '../shared/version.ts'
import { p2pFlags } from './p2pFlags.ts'
import { rollupNodeFlags } from './rollupNodeFlags.ts'

export const rollupNodeProgram = {
  name: 'devium--batcher',
  envPrefixes: ['DEVIUM_NODE', 'OP_NODE'],
  flags: { ...rollupNodeFlags, ...p2pFlags },
}

export function createRollupNodeCommand(): Command {
  const program = createProgram({
    ...rollupNodeProgram,
    description:
      'OP Stack rollup node: derives the L2 chain from L1, sequences blocks, and gossips them. devium-node is another name of this program',
    version: VERSION,
    run: async (values, context) => {
      // Loading the node takes longer than `--help` may take.
      const { runRollupNode } = await import('./runRollupNode.ts')
      await runRollupNode(values, context)
    },
  })
  addNetworksCommands(program)
  return program
}
