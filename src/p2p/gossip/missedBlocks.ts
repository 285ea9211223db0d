import { idText } from '../inspection/messageId.ts'
import type { GossipInternals } from './adapter.ts'
import { MISSED_AFTER_HEARTBEATS } from './topicScores.ts'

/**
 * A block that `from` has brought, and that mesh peers said long before they have: counted where gossipsub counts what
 * was missing of a peer, if the topic is scored for it.
 */
export function countMissed(
  target: Pick<GossipInternals, 'mesh' | 'idontwants' | 'heartbeatTicks'> & {
    score: Pick<GossipInternals['score'], 'peerStats' | 'deliveryRecords'>
  },
  topic: string,
  id: Uint8Array,
  from: string,
): void {
  // Copies that came while the first one was judged, which may have taken long.
  const copied = target.score.deliveryRecords.getRecord(idText(id))?.peers
  for (const peerId of target.mesh.get(topic) ?? []) {
    const saidAt = target.idontwants.get(peerId)?.get(idText(id))
    if (peerId === from || saidAt === undefined || copied?.has(peerId) === true) continue
    if (target.heartbeatTicks - saidAt < MISSED_AFTER_HEARTBEATS) continue
    const counters = target.score.peerStats.get(peerId)?.topics[topic]
    if (counters !== undefined) counters.meshFailurePenalty += 1
  }
}
