import type { Peer } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'

/** A listing takes 0.1 ms per peer, and monitoring tools request it every second. */
const KEPT_MS = 60_000

/** The ids of all peers in the peer store, cached. */
export function createStoredPeers(modules: { clock: Clock; peerStore: { all(): Promise<Pick<Peer, 'id'>[]> } }) {
  const { clock, peerStore } = modules
  let listed: { atMs: number; ids: Promise<ReadonlySet<string>> } | undefined
  const list = async (): Promise<ReadonlySet<string>> =>
    new Set((await peerStore.all()).map((peer) => peer.id.toString()))
  return {
    /** At most a minute old. */
    ids(): Promise<ReadonlySet<string>> {
      const nowMs = clock.now()
      // The clock may have been set back.
      if (listed === undefined || Math.abs(nowMs - listed.atMs) >= KEPT_MS) {
        const latest = { atMs: nowMs, ids: list() }
        listed = latest
        latest.ids.catch(() => {
          if (listed === latest) listed = undefined
        })
      }
      return listed.ids
    },
    /** A peer was deleted, so the next call lists again. */
    changed(): void {
      listed = undefined
    },
  }
}
