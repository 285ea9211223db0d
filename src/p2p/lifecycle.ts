import { P2pError } from './errors.ts'

/** Starts once and stops once, in whatever order it is asked to. */
export interface Lifecycle {
  /** A start that fails is undone. Throws P2pError `not-running` the second time, and after a stop. */
  start(): Promise<void>
  /** Lets a start under way come to its end, and undoes it. Every call waits until all is stopped. */
  stop(): Promise<void>
  /** From the start's begin to the stop's. */
  isRunning(): boolean
}

export function createLifecycle(steps: { start(): Promise<void>; stop(): Promise<void> }): Lifecycle {
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined

  const undo = async (): Promise<void> => {
    // Its failure is told to whoever asked for the start.
    await starting?.catch(() => {})
    await steps.stop()
  }
  const stop = (): Promise<void> => {
    stopping ??= undo()
    return stopping
  }
  return {
    async start() {
      if (stopping !== undefined) throw new P2pError('not-running', 'the p2p node was stopped before')
      if (starting !== undefined) throw new P2pError('not-running', 'the p2p node was started before')
      starting = steps.start()
      try {
        await starting
      } catch (error) {
        await stop()
        throw error
      }
    },
    stop,
    isRunning: () => starting !== undefined && stopping === undefined,
  }
}
