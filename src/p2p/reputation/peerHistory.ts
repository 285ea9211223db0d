import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import { type PeerEvent, peerEvent } from '../base/schemas.ts'
import { type EntryStore, openPeerEntries } from './peerEntries.ts'

/** The part of an event that the reporter knows. */
export type NewPeerEvent = Pick<PeerEvent, 'kind' | 'reason' | 'detail' | 'block' | 'topics'>

const PREFIX = '/devium/peer-history/'
const MAX_PEERS = 1_000
const MAX_EVENTS = 64
/**
 * This many connection and mesh events are kept; more of them are evicted before any other event. A peer that leaves
 * each mesh once a minute, as op-node of 2024 does, must not push out the reason of its ban.
 */
const MIN_ROUTINE = 16
const ROUTINE: ReadonlySet<PeerEvent['kind']> = new Set(['connected', 'disconnected', 'graft', 'prune'])
/** These events are evicted last. A peer that keeps changing its offences must not push out its ban. */
const DECISIONS: ReadonlySet<PeerEvent['kind']> = new Set(['ban', 'unban', 'block', 'unblock'])
/** op-node keeps its peer data for 7 days. */
const KEEP_MS = 7 * 24 * 3_600_000
/** An equal event within this time increases the count of the last one. */
export const MERGE_MS = 60_000
const MAX_DETAIL = 200

export type PeerHistories = Awaited<ReturnType<typeof openPeerHistories>>

/**
 * Opens the histories in the datastore, or keeps them in memory without one. Bounded: the peer without events for
 * longest is evicted first, and of each peer its oldest events.
 */
export async function openPeerHistories(
  modules: { clock: Clock; score(peerId: string): number },
  datastore: EntryStore | undefined,
) {
  const { clock } = modules
  const lastMs = (events: readonly PeerEvent[]): number => events.at(-1)?.lastMs ?? 0
  const entries = await openPeerEntries<PeerEvent[]>(datastore, { prefix: PREFIX, schema: STORED, updatedAt: lastMs })
  entries.prune(MAX_PEERS, (events) => clock.now() - lastMs(events) > KEEP_MS)
  await entries.flush()

  const record = (peerId: string, event: NewPeerEvent): void => {
    const events = entries.get(peerId) ?? []
    entries.set(peerId, events)
    const nowMs = clock.now()
    const score = round(modules.score(peerId))
    const detail = event.detail === undefined ? {} : { detail: event.detail.slice(0, MAX_DETAIL) }
    const known = events.at(-1)
    if (known === undefined || nowMs - known.lastMs > MERGE_MS || !isLike(known, event)) {
      events.push({ ...event, ...detail, count: 1, firstMs: nowMs, lastMs: nowMs, score })
      if (events.length > MAX_EVENTS) events.splice(leastWorthKeeping(events), 1)
    } else {
      events.pop()
      const topics = event.topics === undefined ? {} : { topics: union(known.topics ?? [], event.topics) }
      events.push({ ...known, ...event, ...detail, ...topics, count: known.count + 1, lastMs: nowMs, score })
    }
    if (events.length === 1) entries.prune(MAX_PEERS)
  }

  return {
    record,
    /** Oldest first. Events are immutable: a merge replaces the event. */
    of: (peerId: string): Readonly<PeerEvent>[] => [...(entries.get(peerId) ?? [])],
    peers: (): string[] => entries.all().map(([peerId]) => peerId),
    flush: entries.flush,
  }
}

/**
 * Events are equal regardless of `detail`, which differs with each block or address. Disconnections are the exception,
 * since there `detail` is the cause.
 */
function isLike(known: PeerEvent, { kind, reason, detail }: NewPeerEvent): boolean {
  return known.kind === kind && known.reason === reason && (kind !== 'disconnected' || known.detail === detail)
}

function leastWorthKeeping(events: readonly PeerEvent[]): number {
  const isRoutine = ({ kind }: PeerEvent): boolean => ROUTINE.has(kind)
  if (events.filter(isRoutine).length > MIN_ROUTINE) return events.findIndex(isRoutine)
  const offence = events.findIndex((event) => !isRoutine(event) && !DECISIONS.has(event.kind))
  return offence === -1 ? 0 : offence
}

const STORED = z.array(peerEvent).min(1).max(MAX_EVENTS)

function union(a: readonly number[], b: readonly number[]): number[] {
  return [...new Set([...a, ...b])].sort((x, y) => x - y)
}

function round(score: number): number {
  return Math.round(score * 1000) / 1000
}
