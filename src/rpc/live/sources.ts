import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pApi } from '../../p2p/base/api.ts'
import type { P2pNews } from '../../p2p/base/news.ts'
import type { RollupNodeApi } from '../../rollup/node/api.ts'
import { deviumSyncStatus } from '../json.ts'
import { type HealthModules, readHealth } from '../nodeHealth.ts'
import type { Served } from '../results.ts'
import type { Events, Topic } from '../schemas/events.ts'
import type { Source } from './broadcast.ts'

/** Emits the events of one topic. */
type TopicSource<T extends Topic> = Source<Served<Events[T]> & object>

/** Heads are emitted at once, but at most at this interval. During sync they move thousands of times a second. */
const HEADS_MS = 100
/** Interval of polling states without events: health, and scores, which decay. */
const LOOK_MS = 2_000
/** Smallest change of a score that is emitted. Time in mesh moves all scores all the time. */
const SCORE_STEP = 0.5

type Timed = { clock: Clock }

/** devium_syncStatus whenever a head has moved. */
export function headsSource({
  node,
  clock,
}: Timed & { node: Pick<RollupNodeApi, 'syncStatus' | 'onHeads'> }): TopicSource<'heads'> {
  return (tell) => {
    let cancel: (() => void) | undefined
    let isNew = false
    const tellNow = (): void => {
      isNew = false
      cancel = clock.setTimeout(() => {
        cancel = undefined
        if (isNew) tellNow()
      }, HEADS_MS)
      tell(deviumSyncStatus(node.syncStatus()))
    }
    const end = node.onHeads(() => {
      isNew = true
      if (cancel === undefined) tellNow()
    })
    tellNow()
    return () => {
      end()
      cancel?.()
    }
  }
}

/** Events of the derivation stages: frames, channels, batches. */
export function derivationSource({ node }: { node: Pick<RollupNodeApi, 'onDerivation'> }): TopicSource<'derivation'> {
  return (tell) => node.onDerivation(tell)
}

/** The node's health, at first and after each change of state. */
export function healthSource({
  clock,
  logger,
  ...modules
}: Timed & { logger: Logger } & HealthModules): TopicSource<'health'> {
  return (tell) => {
    let told: string | undefined
    return lookEvery(LOOK_MS, { clock, logger }, async () => {
      const health = await readHealth(modules)
      const codes = health.causes.map(({ code }) => code).join(' ')
      const states = `${health.state} ${codes} ${health.derivation.state} ${health.gossip?.state}`
      if (states === told) return
      told = states
      tell(health)
    })
  }
}

const BAN_EVENTS = ['ban', 'unban', 'block', 'unblock'] as const
type BanNews = Extract<P2pNews, { event: (typeof BAN_EVENTS)[number] }>

function isBanNews(news: P2pNews): news is BanNews {
  return BAN_EVENTS.some((event) => event === news.event)
}

/** Peers that connect, disconnect, join or leave the mesh, and changed scores. */
export function peersSource({
  p2p,
  clock,
  logger,
}: Timed & { logger: Logger; p2p: Pick<P2pApi, 'onNews' | 'standings'> }): TopicSource<'peers'> {
  return (tell) => {
    let told: Record<string, number> = {}
    const end = p2p.onNews((news) => {
      if (!isBanNews(news)) tell(news)
    })
    const endLooks = lookEvery(LOOK_MS, { clock, logger }, async () => {
      const connected = p2p.standings().filter((peer) => peer.connected)
      const scores = Object.fromEntries(connected.map(({ peerID, score }) => [peerID, score]))
      const moved = Object.entries(scores).filter(([peer, score]) => Math.abs(score - (told[peer] ?? 0)) >= SCORE_STEP)
      if (moved.length > 0) tell({ event: 'scores', scores: Object.fromEntries(moved) })
      // Keeps the emitted scores, not the current ones, so that many small steps add up.
      told = Object.fromEntries(Object.keys(scores).map((peer) => [peer, told[peer] ?? 0]))
      for (const [peer, score] of moved) told[peer] = score
    })
    return () => {
      end()
      endLooks()
    }
  }
}

/** Time-limited bans with their ends, and changes of the block lists. */
export function bansSource({ p2p }: { p2p: Pick<P2pApi, 'onNews'> }): TopicSource<'bans'> {
  return (tell) =>
    p2p.onNews((news) => {
      if (isBanNews(news)) tell(news)
    })
}

/** Polls at once and then at the interval, until the returned function is called. */
function lookEvery(
  ms: number,
  { clock, logger }: { clock: Clock; logger: Logger },
  look: () => Promise<void>,
): () => void {
  const ended = new AbortController()
  const run = async (): Promise<void> => {
    while (!ended.signal.aborted) {
      await look().catch((err: unknown) => logger.warn('Notifying subscribers failed', { err }))
      await sleep(clock, ms, ended.signal).catch(() => undefined)
    }
  }
  void run()
  return () => ended.abort()
}
