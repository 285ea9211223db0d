/** Runs asynchronous sections one after the other, in the order in which they were asked for. */
export class SerialLock {
  private tail: Promise<unknown> = Promise.resolve()
  private sections = 0

  /** Whether a section waits for the one that runs. */
  get isWaitedFor(): boolean {
    return this.sections > 1
  }

  run<T>(section: () => Promise<T>): Promise<T> {
    this.sections++
    const result = this.tail.then(section)
    const end = () => void this.sections--
    // The next section runs whatever became of this one.
    this.tail = result.then(end, end)
    return result
  }
}
