/** Reads items by rising or falling number, and prefetches the next ones so that the caller does not wait for each. */
export class ReadAhead<T> {
  private readonly read: (number: number) => Promise<T>
  private readonly window: number
  private readonly step: 1 | -1
  private readonly pending = new Map<number, Promise<T>>()

  /** Reads at most `window` items at a time. */
  constructor(read: (number: number) => Promise<T>, options: { window: number; step: 1 | -1 }) {
    this.read = read
    this.window = options.window
    this.step = options.step
  }

  /** Drops all prefetched items. */
  clear(): void {
    this.pending.clear()
  }

  /** Prefetches nothing beyond `last`. Items before `number` are dropped. */
  take(number: number, last: number): Promise<T> {
    const { pending, window, step } = this
    for (const other of pending.keys()) if ((number - other) * step > 0) pending.delete(other)
    const item = pending.get(number) ?? this.read(number)
    pending.delete(number)
    for (let ahead = 1; ahead < window && (last - number) * step >= ahead; ahead++) this.prefetch(number + ahead * step)
    return item
  }

  private prefetch(number: number): void {
    if (this.pending.has(number)) return
    const item = this.read(number)
    this.pending.set(number, item)
    item.catch(() => {
      // `take` reads the item again, unless a newer read replaced this one.
      if (this.pending.get(number) === item) this.pending.delete(number)
    })
  }
}
