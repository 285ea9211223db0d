import { UsageError } from './errors.ts'

// Durations in Go's format.

const UNIT_MS: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

const DURATION = /^(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+$/

/** Returns whole milliseconds, rounded up. Throws UsageError. */
export function parseDurationMs(text: string): number {
  if (text === '0') return 0
  if (!DURATION.test(text)) throw new UsageError('expected a duration such as 500ms, 12s or 1h30m')
  let total = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)/g))
    total += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0)
  // 2.01 s is 2009.9999999999998 ms.
  return Math.ceil(Number(total.toFixed(6)))
}

/** Milliseconds of a client's duration; undefined unless it is valid and above 0. */
export function durationMsIn(value: unknown): number | undefined {
  if (typeof value !== 'string' || !DURATION.test(value)) return undefined
  const ms = parseDurationMs(value)
  return ms > 0 ? ms : undefined
}

export function formatDuration(ms: number): string {
  if (ms === 0) return '0s'
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000}h`
  if (ms % 60_000 === 0) return `${ms / 60_000}m`
  if (ms % 1000 === 0) return `${ms / 1000}s`
  return `${ms}ms`
}
