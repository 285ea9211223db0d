import { answerTasks } from '../workLoop.ts'

// Answers each task with what it was given.
answerTasks((task, bytes, answer) => answer(task, bytes))
