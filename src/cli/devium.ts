import { createDeviumCommand } from './deviumCommand.ts'
import { runProgram } from './program.ts'

await runProgram(createDeviumCommand())
