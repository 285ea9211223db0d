/** The last values, a fixed number of them. */
export class Ring<T> {
  private readonly items: T[] = []
  private readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  push(item: T): void {
    this.items.push(item)
    if (this.items.length > this.capacity) this.items.shift()
  }

  /** The oldest first. */
  get values(): readonly T[] {
    return this.items
  }

  get last(): T | undefined {
    return this.items.at(-1)
  }
}
