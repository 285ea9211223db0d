import { answerTasks } from '../../lib/workProcess/workLoop.ts'
import { runTask } from './inspectionTask.ts'

// The process in which large messages are unpacked, named and inspected.

// What `ps` and `top` show.
process.title = 'devium-inspection'
answerTasks(runTask)
