import { nextTurn } from './nextTurn.ts'

/** Work for blocks has priority over work for answers to clients. */
export type Work = 'block' | 'answer'

/**
 * How long one stretch of work may hold the event loop before it yields. Long answers leave much garbage, and the
 * collector's pause may come on top of this time.
 */
const TURN_MS: Readonly<Record<Work, number>> = { block: 5, answer: 4 }

let turnStartedAt = Number.NEGATIVE_INFINITY
const waiting: Record<Work, (() => void)[]> = { block: [], answer: [] }

/**
 * Yields to the event loop if this process's work has held it for long enough. Otherwise it returns undefined.
 * All callers share the time, because they share the event loop. One waiting caller continues in each turn. Otherwise a
 * thousand callers would block the sockets a thousand times as long.
 */
export function yieldToLoop(work: Work = 'block'): Promise<void> | undefined {
  if (performance.now() - turnStartedAt < TURN_MS[work]) return undefined
  return waitForTurn(work)
}

/**
 * Waits for a turn of the event loop in which no other caller runs: for a step of milliseconds that cannot be split.
 * Work that begins while sockets are read runs in the same turn, so this waits for two turns.
 */
export async function inOwnTask(): Promise<void> {
  await nextTurn()
  await waitForTurn('block')
}

async function waitForTurn(work: Work): Promise<void> {
  await new Promise<void>((resolve) => {
    if (waiting.block.length + waiting.answer.length === 0) setImmediate(wakeNext)
    waiting[work].push(resolve)
  })
  turnStartedAt = performance.now()
}

function wakeNext(): void {
  const next = waiting.block.shift() ?? waiting.answer.shift()
  if (waiting.block.length + waiting.answer.length > 0) setImmediate(wakeNext)
  next?.()
}
