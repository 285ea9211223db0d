/**
 * How long turns of the event loop take, in processor time of this thread: that is what the code takes, however busy the
 * machine is with other things, and a wait costs nothing. A timer looks each millisecond, so that what it sees of a turn
 * may be a millisecond too much; processor time comes in ticks of up to 4 ms on some systems.
 */
export interface TurnWatch {
  /** Forgets what was seen. */
  reset(): void
  /** Milliseconds. */
  longest(): number
  quantile(share: number): number
  stop(): void
}

const LOOK_EVERY_MS = 1

export function watchTurns(onLong: { aboveMs: number; tell(ms: number): void } | undefined = undefined): TurnWatch {
  let turnsMs: number[] = []
  let before = process.threadCpuUsage()
  const timer = setInterval(() => {
    const now = process.threadCpuUsage()
    const spentMs = (now.user - before.user + now.system - before.system) / 1_000
    before = now
    turnsMs.push(spentMs)
    if (onLong !== undefined && spentMs > onLong.aboveMs) onLong.tell(spentMs)
  }, LOOK_EVERY_MS)
  const sorted = (): number[] => turnsMs.toSorted((a, b) => a - b)
  return {
    reset() {
      turnsMs = []
      before = process.threadCpuUsage()
    },
    longest: () => sorted().at(-1) ?? 0,
    quantile(share) {
      const all = sorted()
      return all[Math.floor(all.length * share)] ?? 0
    },
    stop: () => clearInterval(timer),
  }
}
