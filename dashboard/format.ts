/** Formats amounts and times. Scores, hashes and ids have the programs' formats. */

import { shortHash } from '../src/lib/shortIds.ts'

const NUMBER = new Intl.NumberFormat('en-US')

/** An amount, `1,234,567`. Block numbers are names and have no commas, as in the node's sentences. */
export function count(value: number): string {
  return NUMBER.format(value)
}

/** `1 peer`, `3 peers`. */
export function countOf(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

/** `12 ms`, `1.3 s`, `4 min`, `2 h`, `3 days`. */
export function duration(ms: number): string {
  const abs = Math.abs(ms)
  if (abs < 1_000) return `${Math.round(ms)} ms`
  if (abs < 10_000) return `${(ms / 1_000).toFixed(1)} s`
  if (abs < 120_000) return `${Math.round(ms / 1_000)} s`
  if (abs < 7_200_000) return `${Math.round(ms / 60_000)} min`
  if (abs < 172_800_000) return `${Math.round(ms / 3_600_000)} h`
  return `${Math.round(ms / 86_400_000)} days`
}

/** Whole seconds and more, because milliseconds would change all the time. */
export function ago(nowMs: number, thenMs: number): string {
  return `${duration(Math.max(0, Math.round((nowMs - thenMs) / 1_000) * 1_000)).replace(/^0 ms$/, '0 s')} ago`
}

/** Wei as ether, `0.5`; exact. */
export function ether(wei: string): string {
  const digits = wei.padStart(19, '0')
  return `${digits.slice(0, -18)}.${digits.slice(-18)}`.replace(/\.?0+$/, '')
}

/** `14:03:20`, in the reader's time zone. */
export function clockTime(ms: number): string {
  return new Date(ms).toLocaleTimeString('en-GB')
}

export function bytes(length: number): string {
  if (length < 1_000) return `${length} B`
  return length < 1_000_000 ? `${(length / 1_000).toFixed(1)} kB` : `${(length / 1_000_000).toFixed(1)} MB`
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Makes a sentence of the node presentable: capital letter, full stop, short hashes. */
export function sentence(text: string): string {
  const short = text.replaceAll(/\b0x[0-9a-f]{64}\b/g, shortHash)
  const whole = short.charAt(0).toUpperCase() + short.slice(1)
  return /[.!?…]$/.test(whole) ? whole : `${whole}.`
}
