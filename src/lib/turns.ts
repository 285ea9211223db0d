import { nextTurn } from './nextTurn.ts'

/** Work that blocks wait for goes before work that only an answer to a client waits for. */
export type Work = 'block' | 'answer'

/**
 * Time that one stretch of work may hold the event loop before others get their turn. Long answers leave much for the collector,
 * whose own time may come on top of that.
 */
const TURN_MS: Readonly<Record<Work, number>> = { block: 5, answer: 4 }

let turnStartedAt = Number.NEGATIVE_INFINITY
const waiting: Record<Work, (() => void)[]> = { block: [], answer: [] }

/**
 * Lets the event loop turn when this process's work has held it for long enough; otherwise there is nothing to wait for. The
 * time is shared by all callers, since they share the loop: of those that wait, one goes on in each turn of it, so that a
 * thousand of them do not keep the sockets waiting for a thousand times as long.
 */
export function takeTurn(work: Work = 'block'): Promise<void> | undefined {
  if (performance.now() - turnStartedAt < TURN_MS[work]) return undefined
  return waitForTurn(work)
}

/**
 * Waits for a turn of the event loop that no other of this work has a part in: for a step of milliseconds that cannot be
 * split. What is asked for while sockets are read comes in the same turn, hence two.
 */
export async function ownTurn(): Promise<void> {
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
