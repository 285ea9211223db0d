import type { Clock } from '../../lib/clock.ts'

/** Duration of one slot, which is the precision of the counts. */
const SLOT_MS = 15_000
/** Names come from fixed lists, so more would be a mistake. */
const MAX_NAMES = 64

/** Counts events by name over the last minutes. An event costs two lookups. */
export function createRecentCounts(clock: Clock, windowMs: number) {
  let slots: { startMs: number; counts: Map<string, number> }[] = []
  /** Also drops slots in the future: the clock was set back. */
  const dropOld = (): void => {
    const nowMs = clock.now()
    const isRecent = ({ startMs }: { startMs: number }): boolean => startMs >= nowMs - windowMs && startMs <= nowMs
    if (!slots.every(isRecent)) slots = slots.filter(isRecent)
  }
  return {
    add(name: string): void {
      const nowMs = clock.now()
      let slot = slots.at(-1)
      if (slot === undefined || nowMs - slot.startMs >= SLOT_MS || nowMs < slot.startMs) {
        dropOld()
        slot = { startMs: nowMs, counts: new Map() }
        slots.push(slot)
      }
      const count = slot.counts.get(name)
      if (count !== undefined || slot.counts.size < MAX_NAMES) slot.counts.set(name, (count ?? 0) + 1)
    },
    /** Names without an event are omitted. */
    totals(): Record<string, number> {
      dropOld()
      const totals: Record<string, number> = {}
      for (const { counts } of slots) {
        for (const [name, count] of counts) totals[name] = (totals[name] ?? 0) + count
      }
      return totals
    },
  }
}
