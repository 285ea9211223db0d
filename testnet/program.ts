import { createProgram, runProgram } from '../src/cli/program.ts'
import { VERSION } from '../src/cli/version.ts'
import { testnetFlags } from './flags.ts'
import { runTestnet } from './run.ts'

await runProgram(
  createProgram({
    name: 'devium testnet',
    description:
      'A real OP Stack testnet: Anvil with the real contracts, nodes, and a batch submitter, each a process.',
    version: VERSION,
    envPrefixes: ['DEVIUM_TESTNET'],
    flags: testnetFlags,
    run: runTestnet,
  }),
)
