import { setFlagsFromString } from 'node:v8'

/**
 * Per cent of what the heap may grow by after a full collection, packets and other buffers counted. From the first on V8
 * marks in tasks of its own, from the second in whatever allocates. Later, a block of ten megabytes would reach the limit
 * while it marks, and what is left is then collected in one turn.
 */
const MARK_FROM_PERCENT = 50
const MARK_AT_ONCE_FROM_PERCENT = 75
/** What the heap may grow by after a full collection, in per cent of what was left. */
const GROW_PERCENT = 100

/**
 * Fewer full collections of a small heap, in a process that sleeps most of the time. V8's own rule begins one as soon as
 * less is left than the young generation may take, 32 MB: after each 8 MB of packets, which may all be gone by then; and
 * one after each 64 MB of buffers, however large the heap. A peer that sends ten megabytes a second causes some eight a
 * second, of 10 to 30 ms each. Here buffers count as what else is on the heap. For programs, at their start; the flags
 * are those of V8 13 (Node 24), and another V8 is left to its own rules.
 */
export function markLater(): void {
  if (!process.versions.v8.startsWith('13.')) return
  setFlagsFromString(`--incremental-marking-soft-trigger=${MARK_FROM_PERCENT}`)
  setFlagsFromString(`--incremental-marking-hard-trigger=${MARK_AT_ONCE_FROM_PERCENT}`)
  setFlagsFromString('--external-memory-accounted-in-global-limit')
  setFlagsFromString(`--heap-growing-percent=${GROW_PERCENT}`)
}
