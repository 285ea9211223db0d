import { answerTasks } from '../../lib/workProcess/workLoop.ts'
import { runTask } from './inspectionTask.ts'

// Entry of the process that decompresses, identifies and inspects large messages.

// Shown by `ps` and `top`.
process.title = 'devium-inspection'
answerTasks(runTask)
