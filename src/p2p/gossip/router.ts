import { type GossipSub, type GossipSubComponents, gossipsub, StrictNoSign } from '@chainsafe/libp2p-gossipsub'
import { createPeerScoreParams } from '@chainsafe/libp2p-gossipsub/score'
import type { Connection, PeerId } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import type { P2pEvents } from '../base/events.ts'
import type { P2pOptions } from '../base/options.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import type { ChainTopics, PayloadVersion } from '../base/topics.ts'
import type { Verdict } from '../base/verdict.ts'
import { idText, messageId, type Unpacked } from '../inspection/messageId.ts'
import type { PeerQuotas } from '../quotas/quotas.ts'
import { gossipInternals, type PeerCounters, replaceMembers, subscribersOf } from './adapter.ts'
import { createEntrance, type Entrance } from './entrance.ts'
import { createForwarder } from './forward.ts'
import { createGossipHistory } from './gossipHistory.ts'
import { GossipScore } from './gossipScore.ts'
import { manageGossipStreams } from './gossipStreams.ts'
import { createInbound } from './inbound.ts'
import type { MessageIds } from './knownMessages.ts'
import {
  GOSSIP_PARAMS,
  IDONTWANT_MIN_BYTES,
  MAX_INBOUND_GOSSIP_STREAMS,
  MAX_OUTBOUND_BUFFER_BYTES,
  MAX_TOPIC_BYTES_PER_PEER,
} from './params.ts'
import type { GossipScoring } from './scoreParams.ts'
import { followWallClock } from './wallClockJumps.ts'

/** The library's service as libp2p creates it, and the hooks that it calls. */
export interface GossipService {
  /** The factory for libp2p. */
  readonly create: (components: GossipSubComponents) => GossipSub
  /** Message → id for messages of this node. The library requests the id while it publishes. */
  readonly ownIds: WeakMap<Uint8Array, Uint8Array>
  readonly entrance: Entrance
}

/** Gossipsub with op-node's parameters on the given topics. It needs a router to work. */
export function gossipService(
  { topics, scoring }: { topics: Pick<ChainTopics, 'byVersion'>; scoring: GossipScoring },
  options: P2pOptions['gossip'],
): GossipService {
  const ownIds = new WeakMap<Uint8Array, Uint8Array>()
  const names = [...topics.byVersion.values()]
  const entrance = createEntrance()
  // op-node's parameters. Messages have no author, sequence number or signature.
  const library = gossipsub({
    globalSignaturePolicy: StrictNoSign,
    fallbackToFloodsub: true,
    emitSelf: false,
    doPX: false,
    floodPublish: options.floodPublish,
    allowPublishToZeroTopicPeers: true,
    allowedTopics: names,
    maxTopicBytesPerPeer: MAX_TOPIC_BYTES_PER_PEER,
    maxInboundStreams: MAX_INBOUND_GOSSIP_STREAMS,
    maxOutboundBufferSize: MAX_OUTBOUND_BUFFER_BYTES,
    // The connection trimmer itself knows which peers to keep. Tags would be database writes.
    tagMeshPeers: false,
    D: options.meshD,
    Dlo: options.meshLow,
    Dhi: options.meshHigh,
    Dlazy: options.meshLazy,
    ...GOSSIP_PARAMS,
    idontwantMinDataSize: idontwantMinBytes(options),
    scoreParams: scoring.params,
    scoreThresholds: scoring.thresholds,
    msgIdToStrFn: idText,
    msgIdFn({ data }) {
      const id = ownIds.get(data)
      if (id === undefined) throw new Error('this message is not being published')
      return id
    },
  })
  const create = ({ registrar, privateKey, peerId, peerStore, connectionManager, logger }: GossipSubComponents) =>
    library({ registrar: entrance.around(registrar), privateKey, peerId, peerStore, connectionManager, logger })
  return { create, ownIds, entrance }
}

const idontwantMinBytes = (options: P2pOptions['gossip']): number => options.idontwantMinBytes ?? IDONTWANT_MIN_BYTES

export interface GossipRouterModules {
  clock: Clock
  logger: Logger
  events: P2pEvents
  service: Pick<GossipService, 'ownIds' | 'entrance'>
  topics: Pick<ChainTopics, 'byVersion' | 'versionOf'>
  scoring: GossipScoring
  quotas: PeerQuotas
  /** Computes message ids; `validate` decides about messages. */
  ids: MessageIds
  validate(version: PayloadVersion, unpacked: Unpacked): Verdict | Promise<Verdict>
  /** True: the peer receives every block, inside the mesh or not. */
  isAlwaysServed(peerId: string): boolean
  connectionsOf(peerId: PeerId): Connection[]
  protocolsOf(peerId: PeerId): Promise<readonly string[]>
  /** The peer's unread data exceeds the buffer limit. */
  onSlowReader(peerId: string): void
}

export interface OwnMessage {
  bytes: Uint8Array
  blockTimeS: number
}

/** The gossip network's interface to the rest of the node. */
export type GossipRouter = ReturnType<typeof createGossipRouter>

/** Attaches to the service of a host that has not started. Throws when the library lacks a used member. */
export function createGossipRouter(gossip: GossipSub, modules: GossipRouterModules, options: P2pOptions['gossip']) {
  const { events, scoring, topics, service, clock, logger } = modules
  const { ownIds, entrance } = service
  const internals = gossipInternals(gossip)
  // The library also keeps a copy of the parameters.
  const score = new GossipScore(createPeerScoreParams(scoring.params), {
    onLeave: (what, peerId) => events.emit(what, peerId),
    onPenalty: (peerId, label) => events.emit('penalty', peerId, label),
  })
  const names = [...topics.byVersion.values()]
  const topicOf = (version: PayloadVersion): string => topics.byVersion.get(version) ?? ''
  const { graylistThreshold, publishThreshold } = scoring.thresholds

  const { forget } = entrance
  const history = createGossipHistory(internals.mcache, { clock }, options)
  const streams = manageGossipStreams(internals, gossip, { ...modules, forget, history: history.list })
  replaceMembers(internals, {
    score,
    createOutboundStream: streams.createOutboundStream,
    heartbeat: followWallClock(internals),
    sendRpc: (send) => (peerId, rpc) => {
      const isSent = send(peerId, rpc)
      // DROP_RPC: the peer's queue is full, or its stream has closed.
      events.emit('traced', isSent ? 'SEND_RPC' : 'DROP_RPC', 1)
      return isSent
    },
  })
  const forwarder = createForwarder(internals, modules, { meshLow: options.meshLow, publishThreshold })
  const inbound = createInbound(
    {
      ...modules,
      gossip: internals,
      history,
      forwarder,
      forget,
      setTimeout: clock.setTimeout.bind(clock),
      onUnexpected: (err) => logger.warn('Handling an RPC failed', { err }),
    },
    { idontwantMinBytes: idontwantMinBytes(options), graylistThreshold },
  )
  entrance.listen(inbound)
  gossip.addEventListener('gossipsub:graft', ({ detail: { peerId, topic, direction } }) => {
    events.emit('traced', 'GRAFT', 1)
    const version = topics.versionOf(topic)
    if (version === undefined) return
    const isIn = internals.mesh.get(topic)?.has(peerId) === true
    events.emit('mesh', 'graft', peerId, version, !isIn ? 'refused' : direction === 'inbound' ? 'by-peer' : 'by-us')
  })
  gossip.addEventListener('gossipsub:prune', ({ detail: { peerId, topic, direction } }) => {
    events.emit('traced', 'PRUNE', 1)
    const version = topics.versionOf(topic)
    if (version === undefined) return
    events.emit('mesh', 'prune', peerId, version, direction === 'inbound' ? 'by-peer' : 'by-us')
  })
  events.on('offence', (peerId, _offence, points) => {
    if (points === 0) return
    score.addOffence(peerId, points)
  })

  let activeTopic: PayloadVersion | undefined
  let isJoined = false
  return {
    /** Joins the topics. The host must have started. */
    join(): void {
      for (const topic of names) {
        gossip.subscribe(topic)
        events.emit('traced', 'JOIN', 1)
      }
      isJoined = true
    },
    /** Must be called before the host stops, which leaves the topics. */
    leave(): void {
      if (isJoined) events.emit('traced', 'LEAVE', names.length)
      isJoined = false
    },
    /** Compresses and publishes a signed message. Returns the number of peers that it was sent to. */
    async publish(version: PayloadVersion, { bytes, blockTimeS }: OwnMessage): Promise<number> {
      const topic = topicOf(version)
      const data = compressSnappy(bytes)
      // The id is computed from the uncompressed bytes at hand, so an own block does not queue behind messages of other
      // peers.
      const id = messageId(topic, data, { ok: true, data: bytes })
      history.onValid(idText(id), blockTimeS)
      ownIds.set(data, id)
      // Without a mesh the library would treat the topic as one that it has not joined.
      const floodPublish = options.floodPublish || !internals.mesh.get(topic)?.size
      const { recipients } = await internals.publish(topic, data, { floodPublish })
      events.emit('traced', 'PUBLISH_MESSAGE', 1)
      const chosen = new Set(recipients.map((peer) => peer.toString()))
      return chosen.size + forwarder.sendToOthers(idText(id), { topic, data }, chosen)
    },
    meshPeers: (version: PayloadVersion): string[] => [...(internals.mesh.get(topicOf(version)) ?? [])],
    subscribers: (version: PayloadVersion): string[] => subscribersOf(internals, topicOf(version)),
    isSubscribed: (peerId: string): boolean => names.some((topic) => subscribersOf(internals, topic).includes(peerId)),
    score: (peerId: string): number => score.score(peerId),
    counters: (peerId: string): PeerCounters | undefined => score.peerStats.get(peerId),
    /** Restores the saved counters of a peer that is not connected. */
    restore: score.restore.bind(score),
    forgive: score.forgive.bind(score),
    /** Must be called when the topic of this version becomes the one that carries blocks. The scores then use it. */
    setActiveTopic(version: PayloadVersion): void {
      if (version === activeTopic) return
      activeTopic = version
      const params = scoring.topicsFor(version)
      if (params === undefined) return
      Object.assign(scoring.params.topics, params)
      Object.assign(score.params.topics, structuredClone(params))
    },
    /** Must be called when a peer gains or loses a connection. */
    streams,
    peersOnIp: (ip: string): string[] => [...(score.peerIPs.get(ip) ?? [])],
  }
}
