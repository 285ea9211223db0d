import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { type Clock, systemClock } from '../clock.ts'
import { nextTurn } from '../nextTurn.ts'
import { startChildProgram } from './childProgram.ts'
import { createFrameReader, frameOf } from './frames.ts'
import { READY } from './workLoop.ts'

/**
 * A child process for work that would block the event loop, or that an addon does. A thread would be lighter, but V8
 * and addons may crash all threads when one thread starts or ends (nodejs/node 64500). The child does not keep this
 * program alive, and ends with it.
 */
export interface WorkProcess<Task> {
  /** `bytes` must not change until the answer has arrived. */
  send(task: Task, bytes: Uint8Array): void
  /** Whether the child keeps this program alive: true while a caller waits for an answer. */
  keepAlive(wanted: boolean): void
  /**
   * Kills the process at once, even during a task; no data can be lost. Resolves with the reason when the process has
   * ended.
   */
  kill(): Promise<string>
  /** Resolves when the process has loaded its modules; never if it ends before. */
  readonly ready: Promise<void>
  /** Resolves with the reason when the process has ended; delayed if an external signal ended it. */
  readonly ended: Promise<string>
}

/** Bytes to write in one turn of the event loop. A write continues as long as the reader keeps up, 3 ms for each MB. */
const TURN_BYTES = 512 * 1024

/** `file` is a program that calls `answerTasks`. */
export function startWorkProcess<Task, Answer>(
  file: URL,
  onAnswer: (answer: Answer, bytes: Uint8Array) => void,
  clock: Pick<Clock, 'setTimeout'> = systemClock,
): WorkProcess<Task> {
  const { child, closed, ended } = startChildProgram(file, clock, { stdio: ['pipe', 'pipe', 'pipe'] })
  const ready = Promise.withResolvers<void>()
  const read = createFrameReader((value, bytes) => {
    if (value === READY) ready.resolve()
    // Both processes run the same version.
    else onAnswer(value as Answer, bytes)
  })
  // The streams are missing if the process could not be started.
  const streams = child.stdio ?? []
  const keepAlive = (wanted: boolean): void => {
    for (const part of [child, ...streams.filter((stream) => stream instanceof Socket)]) {
      if (wanted) part.ref()
      else part.unref()
    }
  }
  keepAlive(false)
  let written = Promise.resolve()
  child.stdout?.on('data', read)
  return {
    ready: ready.promise,
    ended,
    send(task, bytes) {
      written = written.then(() => writeInTurns(child.stdin, frameOf(task, bytes)))
    },
    keepAlive,
    kill() {
      keepAlive(true)
      child.kill('SIGKILL')
      return closed
    },
  }
}

/** Stops early if the other side closes the stream. */
async function writeInTurns(stream: Writable | null, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length && stream?.writable; at += TURN_BYTES) {
      if (at > 0) await nextTurn()
      await new Promise((resolve) => stream.write(piece.subarray(at, at + TURN_BYTES), resolve))
    }
  }
}
