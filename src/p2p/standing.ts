import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import type { GossipRouter } from './gossip/router.ts'
import type { Ban } from './host/accessLists.ts'
import type { Connections } from './host/connections.ts'
import type { NodeStorage } from './nodeStorage.ts'
import type { P2pOptions } from './options.ts'
import type { AppScores } from './score/appScores.ts'
import { type BanMonitor, createBanMonitor } from './score/banMonitor.ts'
import { createPeerReasons, type PeerReasons } from './score/peerReasons.ts'
import { createPeerScoreReader, type PeerScoreReader } from './score/peerScores.ts'
import { createScoreKeeping, type ScoreKeeping } from './score/scoreKeeping.ts'
import type { GossipScoring } from './score/scoreParams.ts'

/** How peers stand with us, why, and what follows: scores kept over restarts, bans, and their reasons. */
export interface Standing {
  readonly scores: PeerScoreReader
  readonly keeping: ScoreKeeping
  readonly bans: BanMonitor
  readonly reasons: PeerReasons
}

export interface StandingModules {
  clock: Clock
  logger: Logger
  storage: Pick<NodeStorage, 'access' | 'histories' | 'scoreBook'>
  router: GossipRouter
  appScores: AppScores
  scoring: GossipScoring
  connections: Pick<Connections, 'peers' | 'abort'>
  versionOf(topic: string): number | undefined
  isStatic(peerId: string): boolean
  isProtected(peerId: string): boolean
  onBan(peerId: string, ban: Ban): void
}

export function createStanding(modules: StandingModules, options: Pick<P2pOptions, 'scoring' | 'ban'>): Standing {
  const { clock, logger, storage, router, appScores, scoring, connections, isStatic, isProtected } = modules
  const { access, histories, scoreBook } = storage
  const isScored = options.scoring !== 'none'
  const connected = connections.peers
  const scores = createPeerScoreReader({ router, appScores }, scoring.params)
  const keeping = createScoreKeeping({ book: scoreBook, router, appScores, scores, connected, clock }, scoring.params)
  const reasons = createPeerReasons(
    {
      clock,
      router,
      versionOf: modules.versionOf,
      appScores,
      scoring,
      histories,
      lists: access.lists,
      connected,
      isStatic,
      isProtected,
    },
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
        modules.onBan(peer, ban)
        connections.abort(peer, 'banned')
        // At once, whatever becomes of this process: the ban and all that it is to be explained with.
        // What cannot be written stands all the same, and is told of where it is kept.
        await Promise.all([access.save().catch(() => {}), keeping.save(), histories.flush()])
      },
    },
    options.ban,
  )
  return { scores, keeping, bans, reasons }
}
