import { flushCompileCache } from 'node:module'
import { EMPTY_BYTES } from '../bytes.ts'
import { createFrameReader, frameOf } from './frames.ts'

/** The first word of the process: it has loaded what it needs. */
export const READY = 'ready'

/**
 * Answers what comes by standard input on standard output, in a process of its own. The process ends as soon as its input
 * does, whatever it is at: the program is gone, and nobody wants an answer any more.
 */
export function answerTasks<Task, Answer>(
  run: (task: Task, bytes: Uint8Array, answer: (answer: Answer, bytes?: Uint8Array) => void) => void,
): void {
  // systemd signals every process of a unit. The program decides when its work is over.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  // An exit would wait for the threads of an addon.
  const end = (): void => void process.kill(process.pid, 'SIGKILL')
  process.stdin.on('close', end)
  process.stdout.on('error', end)
  const write = (value: Answer | typeof READY, bytes: Uint8Array = EMPTY_BYTES): void => {
    for (const piece of frameOf(value, bytes)) process.stdout.write(piece)
  }
  // The other side is of the same version.
  const read = createFrameReader((value, bytes) => run(value as Task, bytes, write))
  process.stdin.on('data', read)
  // By itself Node keeps what it has compiled at its end, which comes by a kill here: each process would compile anew.
  flushCompileCache()
  write(READY)
}
