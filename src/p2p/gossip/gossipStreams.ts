import type { Connection, PeerId, StreamCloseEvent } from '@libp2p/interface'
import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { type Around, type CachedName, type GossipInternals, peerNamed, subscribersOf } from './adapter.ts'

type StreamInternals = Pick<GossipInternals, 'getPeers' | 'getTopics' | 'getSubscribers' | 'streamsOutbound'> &
  Pick<GossipInternals, 'createOutboundStream' | 'pushGossip' | 'sendRpc'>

/** What the library's service tells. */
export interface GossipNews {
  addEventListener(type: 'subscription-change', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void
  addEventListener(type: 'gossipsub:heartbeat', listener: () => void): void
}

/** Keeps a gossip stream to every connected peer, whatever becomes of its connections. */
export interface GossipStreams {
  createOutboundStream: Around<GossipInternals, 'createOutboundStream'>
  /** The peer has one more connection: what is sent to it goes there, as the others may be dead. */
  moveTo(connection: Connection): void
  /** The peer has one connection less. */
  repair(peerId: string): void
  /**
   * It has none any more. The library would ask the peer store first whether it spoke gossip, and that forgets a peer
   * that no stream was opened with for a day, as without pings: it stayed in the mesh.
   */
  forget(peerId: string): void
}

/**
 * op-node judges four blocks at a time, drops what comes meanwhile, and asks for it no more: so it is told of a few at a time,
 * and those that it passes them on to once a heartbeat hear of no more than four. The first four are all that a peer lacks
 * which was gone for seconds.
 */
const TOLD_FIRST = 4
const TOLD_AT_ONCE = 2
const TOLD_EVERY_MS = 125
/**
 * The Rust nodes ask for what one RPC tells of in random order, and kona takes each block that comes for its head, also
 * one below: each is told on its own, the oldest first. Of fewer, since the head goes back as far, and since they listen
 * to ten such RPCs in a heartbeat.
 */
const TOLD_RUST_AGE_S = 5
const TOLD_RUST_MOST = 8

export function manageGossipStreams(
  target: StreamInternals,
  news: GossipNews,
  modules: {
    clock: Clock
    logger: Logger
    connectionsOf(peerId: PeerId): Connection[]
    protocolsOf(peerId: PeerId): Promise<readonly string[]>
    /** Has the library forget a peer. */
    forget(peerId: PeerId): void
    /** What a newcomer may have missed, newest first; where it is given, up to that age only. */
    history(maxAgeS?: number): CachedName[]
    /** It leaves more unread than we keep for it. */
    onSlowReader(peerId: string): void
  },
): GossipStreams {
  const { logger } = modules
  const openConnection = (peerId: PeerId): Connection | undefined =>
    modules.connectionsOf(peerId).findLast((connection) => connection.status === 'open')

  /** Peers whose stream is being opened, each on its own: one that does not answer must not keep the others waiting. */
  const opening = new Map<string, Promise<void>>()
  const createOutboundStream: GossipStreams['createOutboundStream'] = (create) => async (peerId, connection) => {
    const id = peerId.toString()
    const earlier = opening.get(id) ?? Promise.resolve()
    const open = async (): Promise<void> => {
      const before = target.streamsOutbound.get(id)
      await create(peerId, connection)
      const rawStream = target.streamsOutbound.get(id)?.rawStream
      if (rawStream !== undefined && rawStream !== before?.rawStream) {
        rawStream.addEventListener('close', ({ error }: StreamCloseEvent) => {
          if (error?.name === 'StreamBufferError') modules.onSlowReader(id)
        })
      }
      // It may have ended before the library listened for that: kept, it would stand in the way of every other.
      if (rawStream !== undefined && rawStream.status !== 'open' && rawStream.status !== 'closing') {
        target.streamsOutbound.delete(id)
      }
      if (opening.get(id) === done) opening.delete(id)
      void greet(id)
    }
    const done = earlier.then(open)
    opening.set(id, done)
  }

  /** Who has been told what it may have missed since its stream was opened. */
  const greeted = new Map<string, object>()
  /**
   * A peer that has just come, or come back, hears of the blocks that it would still accept and may ask for them: otherwise
   * it would wait for the next block, and those in between would have to be asked for by number.
   */
  const greet = async (id: string): Promise<void> => {
    const stream = target.streamsOutbound.get(id)
    const peerId = peerNamed(target, id)
    if (stream === undefined || peerId === undefined || greeted.get(id) === stream) return
    // It may not have told its topics yet.
    const isSubscribed = (topic: string): boolean => subscribersOf(target, topic).includes(id)
    if (!target.getTopics().some(isSubscribed)) return
    greeted.set(id, stream)
    const protocols = await modules.protocolsOf(peerId).catch(() => [])
    if (target.streamsOutbound.get(id) !== stream) return
    const tell = (messages: readonly CachedName[]): void => {
      for (const { topic, msgId } of messages) {
        if (!isSubscribed(topic)) continue
        target.pushGossip(id, { topicID: topic, messageIDs: [msgId] })
      }
      // The list goes along with it.
      target.sendRpc(id, { subscriptions: [], messages: [] })
    }
    if (isRustNode(protocols)) {
      const latest = modules.history(TOLD_RUST_AGE_S).slice(0, TOLD_RUST_MOST)
      for (const message of latest.reverse()) tell([message])
      return
    }
    const [newest, ...older] = modules.history()
    // With the newest the peer knows what it lacks, and may ask for that by number; each older one fits onto the one before.
    const left = newest === undefined ? [] : [newest, ...older.reverse()]
    let held = new Set(left)
    let count = TOLD_FIRST
    while (left.length > 0) {
      tell(left.splice(0, count).filter((message) => held.has(message)))
      if (left.length === 0) return
      await sleep(modules.clock, count * TOLD_EVERY_MS)
      if (target.streamsOutbound.get(id) !== stream) return
      // It is not to ask for one that is gone meanwhile.
      held = new Set(modules.history())
      count = TOLD_AT_ONCE
    }
  }
  news.addEventListener('subscription-change', ({ detail }) => void greet(detail.peerId.toString()))

  const reopen = (peerId: PeerId, connection: Connection): void => {
    logger.debug('Opening a gossip stream again', { peer: peerId.toString() })
    void target.createOutboundStream(peerId, connection)
  }
  const repair = (id: string): void => {
    const peerId = peerNamed(target, id)
    if (peerId === undefined || target.streamsOutbound.has(id) || opening.has(id)) return
    const connection = openConnection(peerId)
    if (connection !== undefined) reopen(peerId, connection)
  }
  news.addEventListener('gossipsub:heartbeat', () => {
    const ids = new Set(target.getPeers().map((peerId) => peerId.toString()))
    for (const id of ids) if (!target.streamsOutbound.has(id)) repair(id)
    for (const id of greeted.keys()) if (!ids.has(id)) greeted.delete(id)
  })

  return {
    createOutboundStream,
    moveTo(connection) {
      const peerId = connection.remotePeer
      const id = peerId.toString()
      if (peerNamed(target, id) === undefined) return
      const stream = target.streamsOutbound.get(id)
      target.streamsOutbound.delete(id)
      void stream?.close()
      reopen(peerId, connection)
    },
    repair,
    forget(id) {
      const peerId = peerNamed(target, id)
      if (peerId !== undefined) modules.forget(peerId)
    },
  }
}

const REQUEST_PROTOCOL = '/opstack/req/payload_by_number/'

/** The Rust nodes' id of the request protocol has a slash at its end, op-node's has none; ours serve both. */
function isRustNode(protocols: readonly string[]): boolean {
  const served = protocols.filter((protocol) => protocol.startsWith(REQUEST_PROTOCOL))
  return served.length > 0 && served.every((protocol) => protocol.endsWith('/'))
}
