/** Room for so much work at once. */
export interface Slots {
  run<T>(work: () => Promise<T>): Promise<T>
  readonly waiting: number
}

/** Lets at most `count` pieces of work run at once; the others wait their turn. */
export function createSlots(count: number): Slots {
  let free = count
  const waiting: (() => void)[] = []
  return {
    get waiting() {
      return waiting.length
    },
    async run(work) {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        const next = waiting.shift()
        if (next === undefined) free++
        else next()
      }
    },
  }
}
