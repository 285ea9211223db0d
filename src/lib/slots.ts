/** Room for so much work at once. */
export interface Slots {
  /** Begins at once where there is room, else in the order in which it was asked for. */
  run<T>(work: () => Promise<T>): Promise<T>
  /** Pieces of work begun and not ended. */
  readonly active: number
  readonly waiting: number
}

/** Lets at most `count` pieces of work run at once, whatever became of those before: with 1, it is a lock. */
export function createSlots(count: number): Slots {
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
