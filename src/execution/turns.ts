import { nextTurn } from '../lib/nextTurn.ts'

/** Time that one stretch of work may hold the event loop before others get their turn. */
const TURN_MS = 8

let turnStartedAt = Number.NEGATIVE_INFINITY

/**
 * Lets the event loop turn when this process's work has held it for long enough; otherwise resolves at once. The time is
 * shared by all callers, since they share the loop.
 */
export async function takeTurn(): Promise<void> {
  const now = performance.now()
  if (now - turnStartedAt < TURN_MS) return
  await nextTurn()
  turnStartedAt = performance.now()
}
