import { createBatchSubmitterCommand } from './batchSubmitter/batchSubmitterCommand.ts'
import { runProgram } from './shared/program.ts'

await runProgram(createBatchSubmitterCommand())
