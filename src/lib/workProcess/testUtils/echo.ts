import { answerTasks } from '../workLoop.ts'

// Answers each task with the task itself.
answerTasks((task, bytes, answer) => answer(task, bytes))
