import type { Libp2p, PeerId } from '@libp2p/interface'
import type { Clock } from '../lib/clock.ts'
import { parsePeerId } from './host/multiaddrs.ts'
import { type StoredRecord, storedRecord } from './peerRecords.ts'

/** Addresses grow old without an event, and the store's `merge` tells of new tags and addresses, but not of metadata. */
const KEPT_MS = 1_000

/**
 * What the peer store says of connected peers, as RPC tells it.
 * Reading a peer and naming its key takes 0.3 ms: a record is kept for a second, or until something about it is written.
 */
export function createStoredRecords(
  host: Pick<Libp2p, 'addEventListener'> & { peerStore: Pick<Libp2p['peerStore'], 'get'> },
  { clock }: { clock: Pick<Clock, 'now'> },
) {
  const kept = new Map<string, { record: Promise<StoredRecord | undefined>; readAtMs: number }>()
  host.addEventListener('peer:update', ({ detail: { peer } }) => kept.delete(peer.id.toString()))
  host.addEventListener('peer:disconnect', ({ detail }) => kept.delete(detail.toString()))

  const read = async (text: string): Promise<StoredRecord | undefined> => {
    const id = parsePeerId(text)
    return isSecp256k1(id) ? storedRecord(id, await host.peerStore.get(id).catch(() => undefined)) : undefined
  }
  return {
    /** Undefined for a peer with another kind of key than this network's. */
    of(peerId: string): Promise<StoredRecord | undefined> {
      const known = kept.get(peerId)
      const nowMs = clock.now()
      if (known !== undefined && Math.abs(nowMs - known.readAtMs) < KEPT_MS) return known.record
      const record = read(peerId)
      kept.set(peerId, { record, readAtMs: nowMs })
      return record
    },
  }
}

export function isSecp256k1(id: Pick<PeerId, 'type'>): boolean {
  return id.type === 'secp256k1'
}
