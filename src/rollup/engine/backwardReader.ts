/**
 * Reads items by descending number and prefetches the next ones, so that the caller does not wait for each. An item
 * that cannot be prefetched is undefined, like a missing item; the caller then requests it itself.
 */
export class BackwardReader<T> {
  private readonly read: (number: number) => Promise<T | undefined>
  private readonly window: number
  private readonly floor: number
  private readonly pending = new Map<number, Promise<T | undefined>>()
  private lowest = Number.POSITIVE_INFINITY

  /** Reads nothing below `floor`, and at most `window` items at a time. */
  constructor(read: (number: number) => Promise<T | undefined>, options: { window: number; floor: number }) {
    this.read = read
    this.window = options.window
    this.floor = options.floor
  }

  /** Returns undefined if the number is higher than the last, or was already taken. */
  async take(number: number): Promise<T | undefined> {
    for (const other of this.pending.keys()) if (other > number) this.pending.delete(other)
    const from = Math.min(number, this.lowest - 1)
    for (let next = from; next > number - this.window && next >= this.floor; next--) {
      this.pending.set(
        next,
        this.read(next).catch(() => undefined),
      )
      this.lowest = next
    }
    const item = await this.pending.get(number)
    this.pending.delete(number)
    return item
  }
}
