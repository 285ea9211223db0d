import { createProgram, runProgram } from '../src/cli/shared/program.ts'
import { VERSION } from '../src/cli/shared/version.ts'
import { testnetProgram } from './flags.ts'
import { runTestnet } from './run.ts'

await runProgram(
  createProgram({
    ...testnetProgram,
    description:
      'A real OP Stack testnet: Anvil, or go-ethereum, with the real contracts, nodes, and a batch submitter, each a process.',
    version: VERSION,
    run: runTestnet,
  }),
)
