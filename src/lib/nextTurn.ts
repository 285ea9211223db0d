/** Lets the event loop turn: what waits in sockets and timers has its chance before the work goes on. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
