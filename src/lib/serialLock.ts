/** Runs asynchronous sections one after the other, in the order in which they were asked for. */
export class SerialLock {
  private tail: Promise<unknown> = Promise.resolve()

  run<T>(section: () => Promise<T>): Promise<T> {
    const result = this.tail.then(section)
    // The next section runs whatever became of this one.
    this.tail = result.catch(() => {})
    return result
  }
}
