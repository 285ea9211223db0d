import { answerTasks } from '../../workProcess/workLoop.ts'
import type { KzgAnswer, KzgTask } from '../kzgTask.ts'

// A KZG process that fails or reports about itself on demand. The order is the text after the blob's first byte.

answerTasks<KzgTask, KzgAnswer>(({ id }, bytes, answer) => {
  const order = Buffer.from(bytes.subarray(1, 9)).toString().replaceAll('\0', '')
  if (order === 'die') process.exit(7)
  if (order === 'crash') process.kill(process.pid, 'SIGSEGV')
  if (order === 'hang') return
  answer({ id, fault: JSON.stringify({ pid: process.pid, environment: Object.keys(process.env) }) })
})
