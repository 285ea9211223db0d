import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { PeerScores } from '../base/api.ts'
import { perTerm, RESPONSE_TERMS } from '../base/scoreTerms.ts'
import type { SavedCounters } from '../gossip/gossipScore.ts'
import { type EntryStore, openPeerEntries } from './peerEntries.ts'

/** A peer's stored score. The first two members are op-node's record (store/scorebook.go). */
export interface ScoreRecord {
  /** Unix seconds. */
  lastUpdate: number
  peerScores: PeerScores
  /**
   * True: the peer was connected at `lastUpdate`, so its counters decay from then on. Counters of disconnected peers do
   * not decay.
   */
  connected: boolean
  counters: SavedCounters
}

/** Not op-node's `/peers/scores`, because libp2p treats every key below `/peers` as its own. */
const PREFIX = '/devium/peer-scores/'
const MAX_PEERS = 1_000
/** There are four scored topics. */
const MAX_TOPICS = 8

/** The last known scores of peers, kept over restarts. */
export type ScoreBook = Awaited<ReturnType<typeof openScoreBook>>

/**
 * Opens the scores in the datastore, or keeps them in memory without one. `retainMs`: op-node's 100 epochs. A damaged
 * record is dropped with a warning, an expired one silently.
 */
export async function openScoreBook(
  modules: { clock: Clock; logger: Logger },
  datastore: EntryStore | undefined,
  options: { retainMs: number },
) {
  const { clock, logger } = modules
  const entries = await openPeerEntries(datastore, {
    prefix: PREFIX,
    // If the clock was set back, the record must still expire.
    schema: RECORD.transform((record) => ({ ...record, lastUpdate: Math.min(record.lastUpdate, clock.now() / 1000) })),
    updatedAt: ({ lastUpdate }) => lastUpdate,
  })
  const { damaged } = entries
  if (damaged > 0) logger.warn('Dropped damaged peer scores from the peer store', { count: damaged })
  const isExpired = ({ lastUpdate }: ScoreRecord): boolean => clock.now() - lastUpdate * 1000 > options.retainMs
  const prune = (): string[] => entries.prune(MAX_PEERS, isExpired)
  prune()
  return {
    ...entries,
    /** Removes expired records, and above the limit the records with the oldest update. Returns their peers. */
    prune,
  }
}

const COUNT = z.number().nonnegative()
const TOPIC = z.object({
  meshTime: COUNT,
  firstMessageDeliveries: COUNT,
  meshMessageDeliveries: COUNT,
  meshFailurePenalty: COUNT,
  invalidMessageDeliveries: COUNT,
})
const RECORD: z.ZodType<ScoreRecord> = z.object({
  lastUpdate: COUNT,
  peerScores: z.object({
    gossip: z.object({
      total: z.number(),
      blocks: z.object({
        timeInMesh: COUNT,
        firstMessageDeliveries: COUNT,
        meshMessageDeliveries: COUNT,
        invalidMessageDeliveries: COUNT,
      }),
      IPColocationFactor: COUNT,
      behavioralPenalty: COUNT,
    }),
    // A record from before a term existed reads 0 for that term.
    reqResp: z.object(perTerm(RESPONSE_TERMS, () => COUNT.default(0))),
  }),
  connected: z.boolean(),
  counters: z.object({
    topics: z.record(z.string(), TOPIC).refine((topics) => Object.keys(topics).length <= MAX_TOPICS),
    behaviourPenalty: COUNT,
  }),
})
