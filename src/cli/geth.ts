import { createGethCommand } from './geth/gethCommand.ts'
import { runProgram } from './shared/program.ts'

await runProgram(createGethCommand())
