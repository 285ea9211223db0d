import { answerTasks } from '../../workProcess/workLoop.ts'
import type { KzgAnswer, KzgTask } from '../kzgTask.ts'

// A process for KZG that breaks down or tells of itself on demand: a blob's bytes after its first say so.

answerTasks<KzgTask, KzgAnswer>(({ id }, bytes, answer) => {
  const order = Buffer.from(bytes.subarray(1, 9)).toString().replaceAll('\0', '')
  if (order === 'die') process.exit(7)
  if (order === 'crash') process.kill(process.pid, 'SIGSEGV')
  if (order === 'hang') return
  answer({ id, fault: JSON.stringify({ pid: process.pid, environment: Object.keys(process.env) }) })
})
