/** Runs asynchronous operations one after the other, in the order they were asked for. */
export class Mutex {
  private last: Promise<unknown> = Promise.resolve()

  run<T>(operation: () => Promise<T> | T): Promise<T> {
    const result = this.last.then(operation)
    this.last = result.catch(() => {})
    return result
  }
}
