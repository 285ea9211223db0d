/**
 * Reads items by descending number, the next ones ahead of time: what one read takes is then not waited for again and
 * again. An item that could not be read ahead is undefined, like one that is not there; the caller asks for it itself.
 */
export class BackwardReader<T> {
  private readonly read: (number: number) => Promise<T | undefined>
  private readonly window: number
  private readonly floor: number
  private readonly pending = new Map<number, Promise<T | undefined>>()
  private lowest = Number.POSITIVE_INFINITY

  /** Nothing below `floor` is read. At most `window` reads are under way. */
  constructor(read: (number: number) => Promise<T | undefined>, options: { window: number; floor: number }) {
    this.read = read
    this.window = options.window
    this.floor = options.floor
  }

  /** Numbers that go up again, or that were taken already, give undefined. */
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
