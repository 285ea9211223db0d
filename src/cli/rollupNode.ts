import { runProgram } from './program.ts'
import { createRollupNodeCommand } from './rollupNodeCommand.ts'

await runProgram(createRollupNodeCommand())
