import type { Clock } from '../clock.ts'
import type { WorkProcess } from './workProcess.ts'

/** How a process broke down: it ended, had not loaded in time, or, as whoever uses it says, does not answer any more. */
export type Breakdown = 'ended' | 'not-ready' | 'stuck'

/**
 * Has one work process at a time, which starts when it is first asked for, and another in its place when it breaks down.
 * Of those that break down before they have answered anything, each but the first begins after a pause: starting them
 * takes more time than what waits is worth.
 */
export function createSupervisor<Task, Answer>(
  modules: {
    clock: Clock
    startChild(onAnswer: (answer: Answer, bytes: Uint8Array) => void): WorkProcess<Task>
    onAnswer(answer: Answer, bytes: Uint8Array): void
    /** It is gone, with what it was at; the next one can be asked for, unless there is a pause. */
    onBreakdown(how: Breakdown, why: string): void
    onPauseOver(): void
    /** It has loaded what it needs. */
    onReady?(): void
  },
  options: {
    /** For a process to load what it needs, on a machine that is overloaded. */
    loadingMs: number
    /** From a breakdown to the next process, after so many in vain. */
    pauseMs(inVain: number): number
  },
) {
  const { clock } = modules
  let child: WorkProcess<Task> | undefined
  let closed = false
  /** Processes in a row that broke down before they had answered. */
  let inVain = 0
  let cancelPause: (() => void) | undefined

  const start = (): WorkProcess<Task> => {
    const started = modules.startChild((answer, bytes) => {
      if (started !== child) return
      inVain = 0
      modules.onAnswer(answer, bytes)
    })
    const cancelLoading = clock.setTimeout(() => {
      if (started === child) replace('not-ready', `not ready in ${options.loadingMs} ms`)
    }, options.loadingMs)
    void started.ready.then(() => {
      cancelLoading()
      if (started === child) modules.onReady?.()
    })
    void started.ended.then((why) => {
      cancelLoading()
      if (started === child) replace('ended', why)
    })
    return started
  }
  const replace = (how: Breakdown, why: string): void => {
    if (closed) return
    void child?.kill()
    child = undefined
    if (inVain > 0) {
      cancelPause = clock.setTimeout(() => {
        cancelPause = undefined
        modules.onPauseOver()
      }, options.pauseMs(inVain))
    }
    inVain += 1
    modules.onBreakdown(how, why)
  }
  return {
    /** The process; undefined during a pause, and once closed. */
    get(): WorkProcess<Task> | undefined {
      if (closed || cancelPause !== undefined) return undefined
      child ??= start()
      return child
    },
    /** As WorkProcess, of the process that there is. */
    keepAlive: (wanted: boolean): void => child?.keepAlive(wanted),
    /** Ends it for not answering. */
    giveUp: (why: string): void => replace('stuck', why),
    /** Ends it, and starts no other. */
    async close(): Promise<void> {
      closed = true
      cancelPause?.()
      await child?.kill()
    },
  }
}
