import { shortHash } from './shortIds.ts'

/** Parts of sentences for log lines, commands and pages. */

/** `1 blob`, `3 blobs`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `a`, `a and b`, `a, b and c`. */
export function listOf(names: readonly string[]): string {
  return names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}

/** `5 s`, `3 min`, `2 h`, `4 days`, rounded down. */
export function sinceText(durationMs: number): string {
  const seconds = Math.max(0, Math.floor(durationMs / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`
  return `${Math.floor(seconds / 86_400)} days`
}

/** `2.5 gwei`. */
export function gweiText(wei: bigint): string {
  return `${Number(wei) / 1e9} gwei`
}

/** `2026-12-01 12:00:00 UTC`. */
export function utcText(unixSeconds: number): string {
  // A larger value is not a valid date.
  const ms = Math.min(unixSeconds * 1000, 8.64e15)
  return `${new Date(ms).toISOString().slice(0, -5).replace('T', ' ')} UTC`
}

/**
 * `in 3 days`, `3 days ago`. Future times are rounded to the nearest unit: one second less than three days is `in 3
 * days`.
 */
export function fromNowText(unixSeconds: number, nowSeconds: number): string {
  const seconds = unixSeconds - nowSeconds
  if (seconds <= 0) return `${sinceText(-seconds * 1000)} ago`
  const unit = seconds < 120 ? 1 : seconds < 7_200 ? 60 : seconds < 172_800 ? 3_600 : 86_400
  return `in ${sinceText(Math.round(seconds / unit) * unit * 1000)}`
}

/** `100 (0x1234…cdef)`. */
export function blockPhrase({ number, hash }: { number: number; hash: string }): string {
  return `${number} (${shortHash(hash)})`
}
