import { createDeviumCommand } from './operator/deviumCommand.ts'
import { runProgram } from './shared/program.ts'

await runProgram(createDeviumCommand())
