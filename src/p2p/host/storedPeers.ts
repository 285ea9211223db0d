import type { Peer } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'

/** Listing takes 0.1 ms for each peer, and who watches a node asks every second. */
const KEPT_MS = 60_000

/** Which peers the peer store holds. */
export function createStoredPeers(modules: { clock: Clock; peerStore: { all(): Promise<Pick<Peer, 'id'>[]> } }) {
  const { clock, peerStore } = modules
  let listed: { atMs: number; ids: Promise<ReadonlySet<string>> } | undefined
  const list = async (): Promise<ReadonlySet<string>> =>
    new Set((await peerStore.all()).map((peer) => peer.id.toString()))
  return {
    /** As of the last minute. */
    ids(): Promise<ReadonlySet<string>> {
      const nowMs = clock.now()
      // It may have been set back.
      if (listed === undefined || Math.abs(nowMs - listed.atMs) >= KEPT_MS) {
        const latest = { atMs: nowMs, ids: list() }
        listed = latest
        latest.ids.catch(() => {
          if (listed === latest) listed = undefined
        })
      }
      return listed.ids
    },
    /** Somebody was deleted: they are listed anew. */
    changed(): void {
      listed = undefined
    },
  }
}
