import { answerTasks } from '../../../lib/workProcess/workLoop.ts'
import type { CallAnswer, CallTask } from '../callTask.ts'

// A process of calls with faults: eth_call hangs it, eth_estimateGas ends it, all else is answered with its process id. For a
// body it asks the program, whose answer ends it.

answerTasks<CallTask, CallAnswer>((task, _, answer) => {
  if (task.kind === 'body') answer({ id: task.id, question: 1 })
  if (task.kind === 'answer') process.exit(3)
  if (task.kind !== 'call') return
  if (task.method === 'eth_call') for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
  if (task.method === 'eth_estimateGas') process.exit(3)
  answer({ id: task.id }, Buffer.from(String(process.pid)))
})
