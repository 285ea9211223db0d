import { createBatchSubmitterCommand } from './batchSubmitterCommand.ts'
import { runProgram } from './program.ts'

await runProgram(createBatchSubmitterCommand())
