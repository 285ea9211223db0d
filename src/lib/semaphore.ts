/** Limits the number of tasks that run at the same time. */
export interface Semaphore {
  /** Starts at once if fewer tasks run than the limit, else in the order of the calls. */
  run<T>(work: () => Promise<T>): Promise<T>
  readonly active: number
  readonly waiting: number
}

/** Runs at most `count` tasks at a time. A failed task does not block the next. With 1, it is a lock. */
export function createSemaphore(count: number): Semaphore {
  let active = 0
  const waiting: (() => void)[] = []
  return {
    get active() {
      return active
    },
    get waiting() {
      return waiting.length
    },
    async run(work) {
      if (active < count) active++
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) active--
        else next()
      }
    },
  }
}
