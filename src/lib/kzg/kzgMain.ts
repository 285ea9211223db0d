import { answerTasks } from '../workProcess/workLoop.ts'
import { type KzgAnswer, type KzgTask, loadKzgLibrary, runKzgTask } from './kzgTask.ts'

// The process in which KZG is computed.

// What `ps` and `top` show.
process.title = 'devium-kzg'
const library = loadKzgLibrary()
answerTasks<KzgTask, KzgAnswer>((task, bytes, answer) => void runKzgTask(library, task, bytes, answer))
