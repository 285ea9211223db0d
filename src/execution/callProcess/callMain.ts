import { setPriority } from 'node:os'
import { readFromProgram } from '../../lib/workProcess/syncReads.ts'
import { answerTasks } from '../../lib/workProcess/workLoop.ts'
import { readOverChannel } from '../chain/storage/chainReads.ts'
import { CallRunner } from './callRunner.ts'
import type { CallAnswer, CallTask } from './callTask.ts'

// The process in which calls run that would hold up the chain.

// What `ps` and `top` show.
process.title = 'devium-calls'
// Blocks go first, also where there is one core.
setPriority(10)

let runner: CallRunner | undefined
answerTasks<CallTask, CallAnswer>((task, bytes, answer) => {
  if (task.kind === 'start') runner = new CallRunner(readOverChannel(readFromProgram), task)
  else if (task.kind === 'cancel') runner?.cancel(task.id)
  else if (task.kind === 'call') runner?.run(task, bytes, answer)
  else if (task.kind === 'body') runner?.runBody(task, bytes, answer)
  else runner?.takeAnswer(task.question, bytes)
})
