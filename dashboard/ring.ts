/** The last values, a fixed number of them. */
export class Ring<T> {
  private readonly items: T[] = []
  private pushes = 0
  private readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  push(item: T): void {
    this.items.push(item)
    this.pushes++
    if (this.items.length > this.capacity) this.items.shift()
  }

  /** The oldest first. */
  get values(): readonly T[] {
    return this.items
  }

  /** Another after each push. */
  get version(): number {
    return this.pushes
  }

  get last(): T | undefined {
    return this.items.at(-1)
  }
}
