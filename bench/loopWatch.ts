import { quantile } from './figures.ts'

/**
 * Measures event loop iterations in processor time of this thread, which excludes waits and other load on the machine. A timer
 * checks every millisecond, so a value may be one millisecond too high. Processor time has ticks of up to 4 ms on some systems.
 */
export interface LoopWatch {
  /** Resets the measurement. */
  reset(): void
  /** Milliseconds. */
  longest(): number
  quantile(share: number): number
  stop(): void
}

const INTERVAL_MS = 1

export function watchLoop(onLong: { aboveMs: number; report(ms: number): void } | undefined = undefined): LoopWatch {
  let iterationsMs: number[] = []
  let before = process.threadCpuUsage()
  const timer = setInterval(() => {
    const now = process.threadCpuUsage()
    const spentMs = (now.user - before.user + now.system - before.system) / 1_000
    before = now
    iterationsMs.push(spentMs)
    if (onLong !== undefined && spentMs > onLong.aboveMs) onLong.report(spentMs)
  }, INTERVAL_MS)
  return {
    reset() {
      iterationsMs = []
      before = process.threadCpuUsage()
    },
    longest: () => quantile(iterationsMs, 1) || 0,
    quantile: (share) => quantile(iterationsMs, share) || 0,
    stop: () => clearInterval(timer),
  }
}
