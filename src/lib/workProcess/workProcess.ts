import { Socket } from 'node:net'
import type { Writable } from 'node:stream'
import { type Clock, systemClock } from '../clock.ts'
import { nextTurn } from '../nextTurn.ts'
import { startChildProgram } from './childProgram.ts'
import { createFrameReader, frameOf } from './frames.ts'
import { READY } from './workLoop.ts'

/**
 * Another process of this program, for work that would hold the event loop, or that an addon does. A thread would be
 * lighter, but V8 and addons may take all threads along when one of them begins or ends (nodejs/node 64500). It does not
 * keep this one alive, and ends with it.
 */
export interface WorkProcess<Task> {
  /** `bytes` is not to change until the answer is there. */
  send(task: Task, bytes: Uint8Array): void
  /** Whether it keeps this process alive: for as long as somebody waits for an answer. */
  keepAlive(wanted: boolean): void
  /** Ends it at once, whatever it is at: it holds nothing that could be lost. Resolves when it has ended, with the reason. */
  kill(): Promise<string>
  /** Resolves when it has loaded what it needs, which takes as long as the machine is busy; never if it ends before. */
  readonly ready: Promise<void>
  /** Resolves when it has ended, with the reason: a moment later where a signal from outside has ended it. */
  readonly ended: Promise<string>
}

/** Written in one turn of the event loop: the system goes on for as long as the reader keeps up, 3 ms for each MB. */
const TURN_BYTES = 512 * 1024
export interface WorkProcessOptions {
  clock?: Pick<Clock, 'setTimeout'>
}

/** `file` calls `answerTasks` with what does the work. */
export function startWorkProcess<Task, Answer>(
  file: URL,
  onAnswer: (answer: Answer, bytes: Uint8Array) => void,
  { clock = systemClock }: WorkProcessOptions = {},
): WorkProcess<Task> {
  const { child, closed, ended } = startChildProgram(file, clock, { stdio: ['pipe', 'pipe', 'pipe'] })
  const ready = Promise.withResolvers<void>()
  const read = createFrameReader((value, bytes) => {
    if (value === READY) ready.resolve()
    // The other side is of the same version.
    else onAnswer(value as Answer, bytes)
  })
  // There are none when the process could not be started.
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

/** Ends early when the other side does. */
async function writeInTurns(stream: Writable | null, pieces: readonly Uint8Array[]): Promise<void> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length && stream?.writable; at += TURN_BYTES) {
      if (at > 0) await nextTurn()
      await new Promise((resolve) => stream.write(piece.subarray(at, at + TURN_BYTES), resolve))
    }
  }
}
