import type { PeerEvent, ScoreCause } from '../base/schemas.ts'
import { MERGE_MS } from './peerHistory.ts'

const MAX_CAUSES = 5

/**
 * The latest events of one category, latest first. A history keeps the order of events; here events with equal reasons
 * are counted together, even with other events in between.
 */
export function latestCauses(
  history: readonly Readonly<PeerEvent>[],
  isCause: (event: PeerEvent) => boolean,
): ScoreCause[] {
  const found: PeerEvent[] = []
  for (const event of history.filter(isCause).reverse()) {
    const at = found.findLastIndex(({ reason, firstMs }) => {
      return reason === event.reason && firstMs - event.lastMs <= MERGE_MS
    })
    const later = found[at]
    if (later === undefined) found.push(event)
    else found[at] = { ...later, count: later.count + event.count, firstMs: event.firstMs }
  }
  return found.slice(0, MAX_CAUSES).map(({ kind: _kind, firstMs: _firstMs, score: _score, ...cause }) => cause)
}
