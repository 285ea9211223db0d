/** Calls wait for the one before: its answer must not replace a newer one. */
export function oneByOne(run: () => Promise<void>): () => Promise<void> {
  let last = Promise.resolve()
  return () => {
    last = last.catch(() => {}).then(run)
    return last
  }
}
