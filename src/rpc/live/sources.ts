import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pApi } from '../../p2p/base/api.ts'
import type { P2pNotification } from '../../p2p/base/notifications.ts'
import type { RollupNodeApi } from '../../rollup/node/api.ts'
import { deviumSyncStatus } from '../json.ts'
import { healthToJson } from '../nodeHealth.ts'
import type { Served } from '../results.ts'
import type { Events, Topic } from '../schemas/events.ts'
import type { Source } from './broadcast.ts'

type TopicSource<T extends Topic> = Source<Served<Events[T]> & object>

/** Heads are emitted at once, but at most at this interval. During sync they move thousands of times a second. */
const HEADS_MS = 100
/** Interval of polling states without events: health, and scores, which decay. */
const POLL_MS = 2_000
/** Smallest change of a score that is emitted. Time in mesh moves all scores all the time. */
const SCORE_STEP = 0.5

type Timed = { clock: Clock }

/** devium_syncStatus whenever a head has moved. */
export function headsSource({
  node,
  clock,
}: Timed & { node: Pick<RollupNodeApi, 'syncStatus' | 'onHeads'> }): TopicSource<'heads'> {
  return (emit) => {
    let cancel: (() => void) | undefined
    let isNew = false
    const emitNow = (): void => {
      isNew = false
      cancel = clock.setTimeout(() => {
        cancel = undefined
        if (isNew) emitNow()
      }, HEADS_MS)
      emit(deviumSyncStatus(node.syncStatus()))
    }
    const end = node.onHeads(() => {
      isNew = true
      if (cancel === undefined) emitNow()
    })
    emitNow()
    return () => {
      end()
      cancel?.()
    }
  }
}

/** Events of the derivation stages: frames, channels, batches. */
export function derivationSource({ node }: { node: Pick<RollupNodeApi, 'onDerivation'> }): TopicSource<'derivation'> {
  return (emit) => node.onDerivation(emit)
}

/** The node's health, at first and after each change of state. */
export function healthSource({
  node,
  clock,
  logger,
}: Timed & { logger: Logger; node: Pick<RollupNodeApi, 'health'> }): TopicSource<'health'> {
  return (emit) => {
    let emitted: string | undefined
    return pollEvery(POLL_MS, { clock, logger }, async () => {
      const health = healthToJson(await node.health())
      const codes = health.causes.map(({ code }) => code).join(' ')
      const states = `${health.state} ${codes} ${health.derivation.state} ${health.gossip?.state}`
      if (states === emitted) return
      emitted = states
      emit(health)
    })
  }
}

const BAN_EVENTS = ['ban', 'unban', 'block', 'unblock'] as const
type BanNotification = Extract<P2pNotification, { event: (typeof BAN_EVENTS)[number] }>

function isBanNotification(notification: P2pNotification): notification is BanNotification {
  return BAN_EVENTS.some((event) => event === notification.event)
}

/** Peers that connect, disconnect, join or leave the mesh, and changed scores. */
export function peersSource({
  p2p,
  clock,
  logger,
}: Timed & { logger: Logger; p2p: Pick<P2pApi, 'onNotification' | 'standings'> }): TopicSource<'peers'> {
  return (emit) => {
    let emitted: Record<string, number> = {}
    const end = p2p.onNotification((notification) => {
      if (!isBanNotification(notification)) emit(notification)
    })
    const endPolling = pollEvery(POLL_MS, { clock, logger }, async () => {
      const connected = p2p.standings().filter((peer) => peer.connected)
      const scores = Object.fromEntries(connected.map(({ peerID, score }) => [peerID, score]))
      const hasMoved = ([peer, score]: [string, number]) => Math.abs(score - (emitted[peer] ?? 0)) >= SCORE_STEP
      const moved = Object.entries(scores).filter(hasMoved)
      if (moved.length > 0) emit({ event: 'scores', scores: Object.fromEntries(moved) })
      // Keeps the emitted scores, not the current ones, so that many small steps add up.
      emitted = Object.fromEntries(Object.keys(scores).map((peer) => [peer, emitted[peer] ?? 0]))
      for (const [peer, score] of moved) emitted[peer] = score
    })
    return () => {
      end()
      endPolling()
    }
  }
}

/** Time-limited bans with their ends, and changes of the block lists. */
export function bansSource({ p2p }: { p2p: Pick<P2pApi, 'onNotification'> }): TopicSource<'bans'> {
  return (emit) =>
    p2p.onNotification((notification) => {
      if (isBanNotification(notification)) emit(notification)
    })
}

/** Polls at once and then at the interval, until the returned function is called. */
function pollEvery(
  ms: number,
  { clock, logger }: { clock: Clock; logger: Logger },
  poll: () => Promise<void>,
): () => void {
  const ended = new AbortController()
  const run = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await poll().catch((err: unknown) => logger.warn('Notifying subscribers failed', { err }))
      await sleep(clock, ms, ended.signal).catch(() => undefined)
    }
  }
  void run()
  return () => ended.abort()
}
