import { answerTasks } from '../../lib/workProcess/workLoop.ts'
import { recoverSenders, type SenderAnswer, type SenderTask } from './senderTask.ts'

// The process in which senders are recovered ahead.

// What `ps` and `top` show.
process.title = 'devium-senders'
answerTasks<SenderTask, SenderAnswer>(({ id, lengths }, bytes, answer) =>
  answer({ id }, recoverSenders(lengths, bytes)),
)
