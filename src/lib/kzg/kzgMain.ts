import { answerTasks } from '../workProcess/workLoop.ts'
import { type KzgAnswer, type KzgTask, loadKzgLibrary, runKzgTask } from './kzgTask.ts'

// The entry point of the KZG process.

// The name that `ps` and `top` show.
process.title = 'devium-kzg'
const library = loadKzgLibrary()
answerTasks<KzgTask, KzgAnswer>((task, bytes, answer) => void runKzgTask(library, task, bytes, answer))
