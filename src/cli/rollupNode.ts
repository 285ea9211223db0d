import { createRollupNodeCommand } from './node/rollupNodeCommand.ts'
import { runProgram } from './shared/program.ts'

await runProgram(createRollupNodeCommand())
