import { P2pError } from './base/errors.ts'

/** What is started and stopped with the node. A part is stopped also when it was never started, or not wholly. */
export interface Part {
  start?(): void | Promise<void>
  stop?(): void | Promise<void>
}

/** Starts once and stops once, in whatever order it is asked to. */
export function createLifecycle(parts: readonly Part[], onStopFailed: (error: Error) => void) {
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined

  const startAll = async (): Promise<void> => {
    for (const part of parts) await part.start?.()
  }
  const undo = async (): Promise<void> => {
    // Its failure is told to whoever asked for the start.
    await starting?.catch(() => {})
    for (const part of parts.toReversed()) {
      try {
        await part.stop?.()
      } catch (error) {
        onStopFailed(error instanceof Error ? error : new Error(String(error)))
      }
    }
  }
  const stop = (): Promise<void> => {
    stopping ??= undo()
    return stopping
  }
  return {
    /** In order. A start that fails is undone. Throws P2pError `not-running` the second time, and after a stop. */
    async start(): Promise<void> {
      if (stopping !== undefined) throw new P2pError('not-running', 'the p2p node was stopped before')
      if (starting !== undefined) throw new P2pError('not-running', 'the p2p node was started before')
      starting = startAll()
      try {
        await starting
      } catch (error) {
        await stop()
        throw error
      }
    },
    /** In reverse. Lets a start under way come to its end, and undoes it. Every call waits until all is stopped. */
    stop,
    /** From the start's begin to the stop's. */
    isRunning: (): boolean => starting !== undefined && stopping === undefined,
  }
}
