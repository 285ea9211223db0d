import type { Connection, PeerId, StreamCloseEvent } from '@libp2p/interface'
import { type Clock, sleep } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { type Around, type CachedName, controlRpc, type GossipInternals, peerNamed, subscribersOf } from './adapter.ts'

type StreamInternals = Pick<GossipInternals, 'getPeers' | 'getTopics' | 'getSubscribers' | 'streamsOutbound'> &
  Pick<GossipInternals, 'createOutboundStream' | 'sendRpc'>
type OpenStream = Around<GossipInternals, 'createOutboundStream'>

/** The events of the library's service that this module uses. */
export interface GossipEventSource {
  addEventListener(type: 'subscription-change', listener: (event: CustomEvent<{ peerId: PeerId }>) => void): void
  addEventListener(type: 'gossipsub:heartbeat', listener: () => void): void
}

/**
 * op-node validates four blocks at a time. It drops blocks that arrive meanwhile, and does not request them again. So a
 * new peer receives IHAVEs for a few blocks at a time. Then the peers that it forwards to once a heartbeat also receive
 * at most four. The first four are all that a peer lacks after some seconds offline.
 */
const ANNOUNCED_FIRST = 4
const ANNOUNCED_AT_ONCE = 2
const ANNOUNCED_EVERY_MS = 125
/**
 * Rust nodes request the ids of one RPC in random order, and kona takes each block as its head, even a lower one. So
 * each block has its own RPC, oldest first. The number is small, because the head moves back that far, and because Rust
 * nodes accept ten such RPCs in a heartbeat.
 */
const RUST_MAX_AGE_S = 5
const RUST_MAX_BLOCKS = 8

/** Keeps a gossip stream to every connected peer, even when connections change. */
export function manageGossipStreams(
  target: StreamInternals,
  source: GossipEventSource,
  modules: {
    clock: Clock
    logger: Logger
    connectionsOf(peerId: PeerId): Connection[]
    protocolsOf(peerId: PeerId): Promise<readonly string[]>
    forget(peerId: PeerId): void
    /** Blocks that a new peer may have missed, newest first. `maxAgeS` limits their age. */
    history(maxAgeS?: number): CachedName[]
    /** The peer's unread data exceeds the buffer limit. */
    onSlowReader(peerId: string): void
  },
) {
  const { logger } = modules
  const openConnection = (peerId: PeerId): Connection | undefined =>
    modules.connectionsOf(peerId).findLast((connection) => connection.status === 'open')

  /** Streams being opened. Each peer has its own queue, so that a peer without an answer does not delay others. */
  const opening = new Map<string, Promise<void>>()
  const createOutboundStream: OpenStream = (create) => async (peerId, connection) => {
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
      // The stream may have closed before the library listened for it. A closed stream would prevent a new one.
      if (rawStream !== undefined && rawStream.status !== 'open' && rawStream.status !== 'closing') {
        target.streamsOutbound.delete(id)
      }
      if (opening.get(id) === done) opening.delete(id)
      void announceRecent(id)
    }
    const done = earlier.then(open)
    opening.set(id, done)
  }

  /** Peer → the stream after which it received its IHAVEs. */
  const announcedOn = new Map<string, object>()
  /**
   * Announces recent blocks to a peer that has connected or reconnected, so that it can request them. Otherwise it
   * would wait for the next block and request the blocks in between by number.
   */
  const announceRecent = async (id: string): Promise<void> => {
    const stream = target.streamsOutbound.get(id)
    const peerId = peerNamed(target, id)
    if (stream === undefined || peerId === undefined || announcedOn.get(id) === stream) return
    // The peer may not have sent its subscriptions yet.
    const isSubscribed = (topic: string): boolean => subscribersOf(target, topic).includes(id)
    if (!target.getTopics().some(isSubscribed)) return
    announcedOn.set(id, stream)
    const protocols = await modules.protocolsOf(peerId).catch(() => [])
    if (target.streamsOutbound.get(id) !== stream) return
    const announce = (messages: readonly CachedName[]): void => {
      const wanted = messages.filter(({ topic }) => isSubscribed(topic))
      const ihave = wanted.map(({ topic, msgId }) => ({ topicID: topic, messageIDs: [msgId] }))
      target.sendRpc(id, controlRpc({ ihave }))
    }
    if (isRustNode(protocols)) {
      const latest = modules.history(RUST_MAX_AGE_S).slice(0, RUST_MAX_BLOCKS)
      for (const message of latest.reverse()) announce([message])
      return
    }
    const [newest, ...older] = modules.history()
    // The newest block shows the peer its gap, which it may request by number. After that each older block extends the
    // one before.
    const left = newest === undefined ? [] : [newest, ...older.reverse()]
    let held = new Set(left)
    let count = ANNOUNCED_FIRST
    while (left.length > 0) {
      announce(left.splice(0, count).filter((message) => held.has(message)))
      if (left.length === 0) return
      await sleep(modules.clock, count * ANNOUNCED_EVERY_MS)
      if (target.streamsOutbound.get(id) !== stream) return
      // Do not announce a block that has left the history.
      held = new Set(modules.history())
      count = ANNOUNCED_AT_ONCE
    }
  }
  source.addEventListener('subscription-change', ({ detail }) => void announceRecent(detail.peerId.toString()))

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
  source.addEventListener('gossipsub:heartbeat', () => {
    const ids = new Set(target.getPeers().map((peerId) => peerId.toString()))
    for (const id of ids) if (!target.streamsOutbound.has(id)) repair(id)
    for (const id of announcedOn.keys()) if (!ids.has(id)) announcedOn.delete(id)
  })

  return {
    createOutboundStream,
    /** The peer has another connection. Its stream moves there, because the others may be dead. */
    moveTo(connection: Connection): void {
      const peerId = connection.remotePeer
      const id = peerId.toString()
      if (peerNamed(target, id) === undefined) return
      const stream = target.streamsOutbound.get(id)
      target.streamsOutbound.delete(id)
      void stream?.close()
      reopen(peerId, connection)
    },
    /** The peer lost one of its connections. */
    repair,
    /**
     * The peer has disconnected. The library alone would first check in the peer store whether the peer supported
     * gossip. The store drops that fact after a day without a new stream, and then the peer stayed in the mesh.
     */
    forget(id: string): void {
      const peerId = peerNamed(target, id)
      if (peerId !== undefined) modules.forget(peerId)
    },
  }
}

const REQUEST_PROTOCOL = '/opstack/req/payload_by_number/'

/** The request protocol id of Rust nodes ends with a slash, op-node's does not. This node serves both. */
function isRustNode(protocols: readonly string[]): boolean {
  const served = protocols.filter((protocol) => protocol.startsWith(REQUEST_PROTOCOL))
  return served.length > 0 && served.every((protocol) => protocol.endsWith('/'))
}
