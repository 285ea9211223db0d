import type { Clock } from '../lib/clock.ts'
import type { P2pEvents } from './base/events.ts'
import type { PayloadVersion } from './base/topics.ts'
import type { GossipRouter } from './gossip/router.ts'
import type { P2pMetrics } from './metrics.ts'
import type { AccessListStore } from './peers/accessListStore.ts'
import type { AppScores } from './reputation/appScores.ts'
import type { PeerHistories } from './reputation/peerHistory.ts'
import type { PeerScoreReader } from './reputation/peerScores.ts'
import type { ScoreKeeping } from './reputation/scoreKeeping.ts'

/** op-node's interval of score inspection. */
const INSPECTION_MS = 15_000

export interface UpkeepModules {
  clock: Clock
  connected(): string[]
  /** Version of the topic that carries blocks now. */
  activeVersion(): PayloadVersion
  access: AccessListStore
  appScores: AppScores
  router: Pick<GossipRouter, 'setActiveTopic'>
  scores: PeerScoreReader
  keeping: Pick<ScoreKeeping, 'save'>
  histories: Pick<PeerHistories, 'flush'>
  metrics: Pick<P2pMetrics, 'observeScores'>
  events: Pick<P2pEvents, 'emit'>
}

/**
 * Periodic work. Each slot: application scores decay, expired bans are lifted, and the active topic is updated. About
 * every 15 s: scores go to the metrics and to the disk.
 */
export function createUpkeep(modules: UpkeepModules, { slotMs }: { slotMs: number }) {
  const { clock, access } = modules
  const slotsPerInspection = Math.max(1, Math.round(INSPECTION_MS / slotMs))
  let slots = 0
  let cancel: (() => void) | undefined

  /** Lifts an expired ban on time, even if the peer never returns. */
  const liftExpiredBans = (): void => {
    const peers = access.lists.liftExpiredBans(clock.now())
    for (const peer of peers) modules.events.emit('unbanned', peer, 'expired')
    if (peers.length === 0) return
    // The store logs a failed save.
    access.save().catch(() => {})
  }
  const onSlot = (): void => {
    const connected = modules.connected()
    modules.appScores.decay(connected)
    liftExpiredBans()
    modules.router.setActiveTopic(modules.activeVersion())
    slots += 1
    if (slots % slotsPerInspection === 0) {
      modules.metrics.observeScores(connected.map(modules.scores.of))
      void modules.keeping.save()
      void modules.histories.flush()
      void access.saveAgain()
    }
    cancel = clock.setTimeout(onSlot, slotMs)
  }
  return {
    start: onSlot,
    stop(): void {
      cancel?.()
      cancel = undefined
    },
  }
}
