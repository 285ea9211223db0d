import { idText } from '../inspection/messageId.ts'
import type { GossipInternals } from './adapter.ts'
import { MISSED_AFTER_HEARTBEATS } from './topicScores.ts'

/**
 * Counts a missed delivery for each mesh peer that announced the block long before `from` delivered it. The counter is
 * gossipsub's mesh failure penalty, if the topic is scored for it.
 */
export function countMissed(
  target: Pick<GossipInternals, 'mesh' | 'idontwants' | 'heartbeatTicks'> & {
    score: Pick<GossipInternals['score'], 'peerStats' | 'deliveryRecords'>
  },
  topic: string,
  id: Uint8Array,
  from: string,
): void {
  // Includes copies that arrived while the first copy was validated, which may take long.
  const copied = target.score.deliveryRecords.getRecord(idText(id))?.peers
  for (const peerId of target.mesh.get(topic) ?? []) {
    const saidAt = target.idontwants.get(peerId)?.get(idText(id))
    if (peerId === from || saidAt === undefined || copied?.has(peerId) === true) continue
    if (target.heartbeatTicks - saidAt < MISSED_AFTER_HEARTBEATS) continue
    const counters = target.score.peerStats.get(peerId)?.topics[topic]
    if (counters !== undefined) counters.meshFailurePenalty += 1
  }
}
