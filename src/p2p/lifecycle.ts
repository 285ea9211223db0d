import { P2pError } from './base/errors.ts'

/** A component that starts and stops with the node. `stop` also runs when `start` was never called, or failed. */
export interface Part {
  start?(): void | Promise<void>
  stop?(): void | Promise<void>
}

/** Starts once and stops once, in any order of calls. */
export function createLifecycle(parts: readonly Part[], onStopFailed: (error: Error) => void) {
  let starting: Promise<void> | undefined
  let stopping: Promise<void> | undefined

  const startAll = async (): Promise<void> => {
    for (const part of parts) await part.start?.()
  }
  const undo = async (): Promise<void> => {
    // The caller of `start` receives this failure.
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
    /**
     * Starts all parts in order. A failed start is undone. Throws P2pError `not-running` on the second call, and after
     * a stop.
     */
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
    /**
     * Stops all parts in reverse order. A start in progress is completed first. Every call waits until all parts have
     * stopped.
     */
    stop,
    /** True from the begin of `start` to the begin of `stop`. */
    isRunning: (): boolean => starting !== undefined && stopping === undefined,
  }
}
