import { answerTasks } from '../../../lib/workProcess/workLoop.ts'

// A process that ends with its first task.

answerTasks(() => process.exit(3))
