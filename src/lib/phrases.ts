import { shortHash } from './shortIds.ts'

/** Pieces of sentences that people read. */

/** `1 blob`, `3 blobs`. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** `5 s`, `3 min`, `2 h`, `4 days`, rounded down: how long something has lasted at least. */
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

/** `100 (0x1234…cdef)`. */
export function blockPhrase({ number, hash }: { number: number; hash: string }): string {
  return `${number} (${shortHash(hash)})`
}
