import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import type { P2pEvents } from './base/events.ts'
import type { P2pOptions } from './base/options.ts'
import type { GossipRouter } from './gossip/router.ts'
import type { GossipScoring } from './gossip/scoreParams.ts'
import type { NodeStorage } from './nodeStorage.ts'
import type { Connections } from './peers/connections.ts'
import type { PeerRegistry } from './peers/registry.ts'
import type { AppScores } from './reputation/appScores.ts'
import { createBanMonitor } from './reputation/banMonitor.ts'
import { recordPeerEvents } from './reputation/peerEvents.ts'
import { openPeerHistories } from './reputation/peerHistory.ts'
import { createPeerReasons } from './reputation/peerReasons.ts'
import { createPeerScoreReader } from './reputation/peerScores.ts'
import { openScoreBook } from './reputation/scoreBook.ts'
import { createScoreKeeping } from './reputation/scoreKeeping.ts'

export interface ReputationModules {
  clock: Clock
  logger: Logger
  events: P2pEvents
  storage: Pick<NodeStorage, 'access' | 'datastore'>
  router: GossipRouter
  appScores: AppScores
  scoring: GossipScoring
  connections: Pick<Connections, 'abort'>
  peers: PeerRegistry
  versionOf(topic: string): number | undefined
  servesBlocks(peerId: string): Promise<boolean | null>
}

/**
 * Assembles histories, scores that survive restarts, bans, and the explanations of scores. Restores the scores of known
 * peers.
 */
export async function openReputation(modules: ReputationModules, options: Pick<P2pOptions, 'scoring' | 'ban'>) {
  const { clock, logger, events, router, appScores, scoring, connections, peers } = modules
  const { access, datastore } = modules.storage
  const isScored = options.scoring !== 'none'
  const { connected, isStatic } = peers
  const histories = await openPeerHistories({ clock, score: router.score }, datastore)
  recordPeerEvents(histories, events)
  const book = await openScoreBook({ clock, logger }, isScored ? datastore : undefined, {
    retainMs: scoring.params.retainScore,
  })
  const scores = createPeerScoreReader({ router, appScores }, scoring.params)
  const keeping = createScoreKeeping({ book, router, appScores, scores, connected, clock }, scoring.params)
  keeping.restore()
  let recordLast = (): void => {}
  events.on('leaving', (peer) => {
    recordLast = keeping.onLeave(peer)
  })
  events.on('left', () => recordLast())
  const reasons = createPeerReasons(
    { ...modules, ...peers, histories, lists: access.lists },
    { scored: isScored, banThreshold: options.ban.enabled && isScored ? options.ban.threshold : undefined },
  )
  const bans = createBanMonitor(
    {
      clock,
      logger,
      connected,
      score: router.score,
      isStatic,
      mainReason: reasons.mainReason,
      async ban(peer, ban) {
        access.lists.banPeer(peer, ban)
        events.emit('banned', peer, ban)
        connections.abort(peer, 'banned')
        // The ban, the scores and the history are written at once, so that they survive a crash.
        // A failed save does not lift the ban. The stores log the failure.
        await Promise.all([access.save().catch(() => {}), keeping.save(), histories.flush()])
      },
    },
    options.ban,
  )
  // A peer may return with the score that it left with.
  events.on('connected', bans.suspect)
  events.on('offence', bans.suspect)
  events.on('penalty', bans.suspect)
  events.on('verdict', (peer, _, { result }) => {
    if (result === 'reject') bans.suspect(peer)
  })
  return {
    histories,
    scores,
    keeping,
    reasons,
    start(): void {
      if (options.ban.enabled && isScored) bans.start()
    },
    /** Call it while the peers are still in the meshes. */
    async stop(): Promise<void> {
      bans.stop()
      await keeping.close()
    },
  }
}
