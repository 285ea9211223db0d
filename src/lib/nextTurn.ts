/** Lets the event loop turn: what waits in sockets and timers has its chance before the work goes on. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** As many turns of it, one after the other. */
export async function turnsPass(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await nextTurn()
}
