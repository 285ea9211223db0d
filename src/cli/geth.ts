import { createGethCommand } from './gethCommand.ts'
import { runProgram } from './program.ts'

await runProgram(createGethCommand())
