/** Yields to the event loop: pending sockets and timers run before the caller continues. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Yields `count` times. */
export async function loopTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}
