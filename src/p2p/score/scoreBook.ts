import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { PeerScores } from '../api.ts'
import type { SavedCounters, SavedTopic } from '../gossip/retainedScores.ts'
import { createEntryWriter, type EntryStore } from './entryWriter.ts'

/** What is kept of a peer's score. The first two members are op-node's record (store/scorebook.go). */
export interface ScoreRecord {
  /** Unix seconds. */
  lastUpdate: number
  peerScores: PeerScores
  /** It was connected then: its counters went on decaying, which those of absent peers do not. */
  connected: boolean
  /** What gossipsub counted, topic by topic. */
  counters: SavedCounters
}

/** The last known scores of peers, over restarts. */
export interface ScoreBook {
  get(peerId: string): ScoreRecord | undefined
  put(peerId: string, record: ScoreRecord): void
  remove(peerId: string): void
  entries(): [string, ScoreRecord][]
  /** Removes what is older than the retain time, and who was updated longest ago when there are too many. */
  prune(): string[]
  /** Writes what is new, in one batch. */
  flush(): Promise<void>
}

/** Not op-node's `/peers/scores`: below `/peers` libp2p takes every key for one of its own. */
const PREFIX = '/devium/peer-scores/'
const MAX_PEERS = 1_000
/** Of the scored topics of one peer there are four. */
const MAX_TOPICS = 8

/**
 * Opens the scores that the datastore holds, or keeps them in memory without one. `retainMs`: op-node's 100 epochs.
 * A record that cannot be understood is dropped with a warning, an expired one without.
 */
export async function openScoreBook(
  modules: { clock: Clock; logger: Logger },
  datastore: EntryStore | undefined,
  options: { retainMs: number },
): Promise<ScoreBook> {
  const { clock, logger } = modules
  /** Longest ago updated first. */
  const records = new Map<string, ScoreRecord>()
  const writer = createEntryWriter({ datastore, entry: (peerId) => records.get(peerId) }, { prefix: PREFIX })
  const isExpired = ({ lastUpdate }: ScoreRecord): boolean => clock.now() - lastUpdate * 1000 > options.retainMs

  const remove = (peerId: string): void => {
    if (records.delete(peerId)) writer.changed(peerId)
  }
  const prune = (): string[] => {
    const gone: string[] = []
    for (const [peerId, record] of records) {
      if (records.size - gone.length <= MAX_PEERS && !isExpired(record)) break
      gone.push(peerId)
    }
    for (const peerId of gone) remove(peerId)
    return gone
  }

  if (datastore !== undefined) {
    const found: [string, ScoreRecord][] = []
    let damaged = 0
    for await (const { key, value } of datastore.query({ prefix: PREFIX })) {
      const record = parseRecord(value)
      if (record === undefined) damaged += 1
      // A clock that was set back must not make a record immortal.
      else found.push([key.name(), { ...record, lastUpdate: Math.min(record.lastUpdate, clock.now() / 1000) }])
      if (record === undefined) writer.changed(key.name())
    }
    if (damaged > 0) logger.warn('Peer scores in the peer store were damaged and are dropped', { count: damaged })
    found.sort(([, a], [, b]) => a.lastUpdate - b.lastUpdate)
    for (const [peerId, record] of found) records.set(peerId, record)
    prune()
  }

  return {
    get: (peerId) => records.get(peerId),
    put(peerId, record) {
      records.delete(peerId)
      records.set(peerId, record)
      writer.changed(peerId)
    },
    remove,
    entries: () => [...records],
    prune,
    flush: writer.flush,
  }
}

function parseRecord(bytes: Uint8Array): ScoreRecord | undefined {
  try {
    const json: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'))
    return isRecord(json) ? json : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is ScoreRecord {
  const { lastUpdate, peerScores, connected, counters } = members(value)
  return isCount(lastUpdate) && typeof connected === 'boolean' && isScores(peerScores) && isCounters(counters)
}

function isScores(value: unknown): value is PeerScores {
  const { gossip, reqResp } = members(value)
  const { total, blocks, IPColocationFactor, behavioralPenalty } = members(gossip)
  const counts = [IPColocationFactor, behavioralPenalty]
  const { timeInMesh, firstMessageDeliveries, meshMessageDeliveries, invalidMessageDeliveries } = members(blocks)
  counts.push(timeInMesh, firstMessageDeliveries, meshMessageDeliveries, invalidMessageDeliveries)
  const { validResponses, errorResponses, rejectedPayloads } = members(reqResp)
  counts.push(validResponses, errorResponses, rejectedPayloads)
  return typeof total === 'number' && Number.isFinite(total) && counts.every(isCount)
}

function isCounters(value: unknown): value is SavedCounters {
  const { topics, behaviourPenalty } = members(value)
  if (!isCount(behaviourPenalty) || typeof topics !== 'object' || topics === null) return false
  const saved = Object.values(topics)
  return saved.length <= MAX_TOPICS && saved.every(isTopic)
}

function isTopic(value: unknown): value is SavedTopic {
  const { meshTime, firstMessageDeliveries, meshMessageDeliveries, ...bad } = members(value)
  const good = [meshTime, firstMessageDeliveries, meshMessageDeliveries]
  return [...good, bad.meshFailurePenalty, bad.invalidMessageDeliveries].every(isCount)
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Of anything: none, unless it is an object. */
function members(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
