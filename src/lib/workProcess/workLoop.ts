import { flushCompileCache } from 'node:module'
import { EMPTY_BYTES } from '../bytes.ts'
import { createFrameReader, frameOf } from './frames.ts'

/** The first message of the process: it has loaded its modules. */
export const READY = 'ready'

/**
 * Runs in a separate process: reads tasks from standard input and writes answers to standard output. The process exits
 * as soon as its input closes, even during a task, because the parent program has ended.
 */
export function answerTasks<Task, Answer>(
  run: (task: Task, bytes: Uint8Array, answer: (answer: Answer, bytes?: Uint8Array) => void) => void,
): void {
  // systemd signals every process of a unit. The parent program decides when this process ends.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  // A regular exit would wait for the threads of an addon.
  const end = (): void => void process.kill(process.pid, 'SIGKILL')
  process.stdin.on('close', end)
  process.stdout.on('error', end)
  const write = (value: Answer | typeof READY, bytes: Uint8Array = EMPTY_BYTES): void => {
    for (const piece of frameOf(value, bytes)) process.stdout.write(piece)
  }
  // Both processes run the same version.
  const read = createFrameReader((value, bytes) => run(value as Task, bytes, write))
  process.stdin.on('data', read)
  // Node writes its compile cache on a regular exit, but this process is killed. Without this call each process would
  // compile again.
  flushCompileCache()
  write(READY)
}
