import { answerTasks } from '../../lib/workProcess/workLoop.ts'
import { type Answer, runTask, type Task } from '../inspection/inspectionTask.ts'

// The process for large messages, with commands to crash or to report its id. A message's topic or a block's frames
// hold the command.

answerTasks<Task, Answer>((task, bytes, answer) => {
  const order = 'version' in task ? Buffer.from(bytes.subarray(0, 5)).toString() : task.topic
  if (order === 'die') process.exit(7)
  if (order === 'crash') process.kill(process.pid, 'SIGSEGV')
  if (order === 'throw') throw new Error('thrown on demand')
  if (order === 'tell') {
    answer({ id: task.id, failure: `${process.pid}` })
    return
  }
  // Until it is killed.
  while (order === 'hang');
  runTask(task, bytes, answer)
})
