import { type GossipSub, type GossipSubComponents, gossipsub } from '@chainsafe/libp2p-gossipsub'
import type { Connection, PeerId } from '@libp2p/interface'
import type { Clock } from '../../lib/clock.ts'
import type { Logger } from '../../lib/logger.ts'
import { P2pError } from '../errors.ts'
import type { P2pOptions } from '../options.ts'
import { compressSnappy } from '../snappyBlock.ts'
import type { Verdict } from './blockValidator.ts'
import { followClock } from './clockSteps.ts'
import { orderForwarding } from './forwardOrder.ts'
import { type GossipInternals, gossipInternals, type PeerCounters } from './gossipInternals.ts'
import { type GossipStreams, manageGossipStreams } from './gossipStreams.ts'
import { gossipsubOptions } from './gossipsubOptions.ts'
import { type GossipGuard, type GuardModules, guardGossip } from './guard.ts'
import { createIdDialects } from './idDialects.ts'
import { countIpv6Networks } from './ipv6Networks.ts'
import { createMessageFlow, type Judgement, type MessageFlow, type OwnMessage } from './messageFlow.ts'
import { namingOf } from './naming.ts'
import { GOSSIP_PARAMS } from './params.ts'
import { type RetainedScores, retainScores } from './retainedScores.ts'
import { countRpcs } from './rpcCounts.ts'
import { noteSenders } from './senders.ts'
import { serveSmallNetworks } from './smallNetworks.ts'
import { speakBothDialects } from './speakBothDialects.ts'
import { createTellableBlocks } from './tellableBlocks.ts'
import type { ChainTopics, PayloadVersion } from './topics.ts'

/** op-node's names of what its pubsub tracer counts. */
export type GossipEvent =
  | 'PUBLISH_MESSAGE'
  | 'REJECT_MESSAGE'
  | 'DUPLICATE_MESSAGE'
  | 'DELIVER_MESSAGE'
  | 'ADD_PEER'
  | 'REMOVE_PEER'
  | 'RECV_RPC'
  | 'SEND_RPC'
  | 'DROP_RPC'
  | 'JOIN'
  | 'LEAVE'
  | 'GRAFT'
  | 'PRUNE'

/** `refused`: the peer wanted in and was not let. */
export type MeshCause = 'by-us' | 'by-peer' | 'refused'

export interface GossipRouterModules extends Judgement {
  clock: Clock
  logger: Logger
  onEvent(event: GossipEvent, count?: number): void
  /** A peer sent what was rejected already. */
  onRejectedAgain(from: string, version: PayloadVersion, verdict: Verdict): void
  /** A peer joined or left the mesh of a topic, by its own will or ours; or it was refused. */
  onMesh(change: 'graft' | 'prune', peerId: string, version: PayloadVersion, cause: MeshCause): void
  /** Gossipsub's name of what it blames the peer for. */
  onPenalty(peerId: string, label: string): void
  /** A peer is gone: called before its counters are settled, and what it returns after. */
  onLeave(peerId: string): () => void
  /** Peers that get every block, in the mesh or not. */
  isAlwaysServed(peerId: string): boolean
  /** What stands before gossipsub is told, and asks. */
  guard: Omit<GuardModules, 'onCopy'>
  /** Open connections of a peer. */
  connectionsOf(peerId: PeerId): Connection[]
}

/** The gossip network as the rest of the node sees it. */
export interface GossipRouter {
  /** Given to libp2p, which builds the service with it. */
  readonly service: (components: GossipSubComponents) => GossipSub
  /** Joins the topics; the host must be started. */
  join(): void
  /** The host is about to stop, and with it the topics are left. */
  leave(): void
  /** A signed message, compressed here. Number of peers it was sent to. */
  publish(version: PayloadVersion, message: OwnMessage): Promise<number>
  meshPeers(version: PayloadVersion): string[]
  subscribers(version: PayloadVersion): string[]
  isSubscribed(peerId: string): boolean
  score(peerId: string): number
  counters(peerId: string): PeerCounters | undefined
  /** Gives a peer that is not connected the counters that it had; the host must have been created. */
  restore: RetainedScores['restore']
  forgive: RetainedScores['forgive']
  /** The topic of this version carries the chain's blocks from now on: scores go by it. */
  setCarrier(version: PayloadVersion): void
  /** For those who know of connections: a peer has one more, or one less. */
  readonly streams: GossipStreams
  /** Adds to what gossipsub counts as misbehaviour of the peer. */
  penalise(peerId: string, points: number): void
  /** Peers known on an IP. */
  peersOnIp(ip: string): string[]
}

/** What stands once libp2p has built the service. */
interface Parts {
  gossip: GossipSub
  internals: GossipInternals
  flow: MessageFlow
  retained: RetainedScores
  streams: GossipStreams
  isSmall(topic: string): boolean
  penalise(peerId: string, points: number): void
}

/** Gossipsub with op-node's parameters over the given topics. */
export function createGossipRouter(
  modules: GossipRouterModules,
  topics: Pick<ChainTopics, 'byVersion' | 'versionOf'>,
  options: P2pOptions['gossip'],
): GossipRouter {
  const { scoring, onEvent } = modules
  const names = [...topics.byVersion.values()]
  const idontwantMinBytes = options.idontwantMinBytes ?? GOSSIP_PARAMS.idontwantMinBytes
  const dialects = createIdDialects()
  let parts: Parts | undefined
  let carrier: PayloadVersion | undefined
  let isJoined = false

  const create = (components: GossipSubComponents): GossipSub => {
    const gossip = gossipsub({
      ...gossipsubOptions({ topics: names, scoring, idontwantMinBytes }, options),
      msgIdFn: (message) => flow.identify(message),
      msgIdToStrFn: dialects.nameInside,
    })(components)
    const internals = gossipInternals(gossip)
    countRpcs(internals, onEvent)
    followClock(internals)
    for (const [version, topic] of topics.byVersion) {
      gossip.topicValidators.set(topic, (from, message) => flow.judge(from.toString(), version, message))
    }
    tellOfMesh(gossip, internals)
    countIpv6Networks(internals.score, scoring.params.IPColocationFactorWhitelist)
    const retained = retainScores(internals, modules.onLeave)
    const { isSmall } = serveSmallNetworks(internals, modules, {
      meshLow: options.meshLow,
      publishThreshold: scoring.thresholds.publishThreshold,
    })
    orderForwarding(internals)
    const guard = guardGossip(
      gossip,
      { ...modules.guard, onCopy: () => onEvent('RECV_RPC') },
      {
        topics: new Set(names),
        graylistThreshold: scoring.thresholds.graylistThreshold,
      },
    )
    const naming = (peerId: PeerId) =>
      namingOf(dialects, peerId.toString(), async () => (await components.peerStore.get(peerId)).protocols)
    const tellable = createTellableBlocks(internals.mcache, modules, options)
    const streams = manageGossipStreams(gossip, { ...modules, naming, tellable: tellable.list })
    const flow = createMessageFlow(
      {
        ...modules,
        topics,
        internals,
        names: speakBothDialects(internals, dialects),
        senderOf: noteSenders(internals),
        onAccepted: guard.onAccepted,
        onValid: tellable.onValid,
      },
      { idontwantMinBytes },
    )
    const penalise = watchScores(internals, { flow, guard, retained })
    parts = { gossip, internals, flow, retained, streams, isSmall, penalise }
    return gossip
  }

  const tellOfMesh = (gossip: GossipSub, { mesh }: GossipInternals): void => {
    gossip.addEventListener('gossipsub:graft', ({ detail: { peerId, topic, direction } }) => {
      onEvent('GRAFT')
      const version = topics.versionOf(topic)
      if (version === undefined) return
      const isIn = mesh.get(topic)?.has(peerId) === true
      modules.onMesh('graft', peerId, version, !isIn ? 'refused' : direction === 'inbound' ? 'by-peer' : 'by-us')
    })
    gossip.addEventListener('gossipsub:prune', ({ detail: { peerId, topic, direction } }) => {
      onEvent('PRUNE')
      const version = topics.versionOf(topic)
      if (version !== undefined) modules.onMesh('prune', peerId, version, direction === 'inbound' ? 'by-peer' : 'by-us')
    })
  }

  /** Tells of what gossipsub blames peers for. Returns what blames them for more. */
  const watchScores = (
    { score }: GossipInternals,
    { flow, guard, retained }: { flow: MessageFlow; guard: GossipGuard; retained: RetainedScores },
  ): Parts['penalise'] => {
    const duplicateMessage = score.duplicateMessage.bind(score)
    score.duplicateMessage = (from, id, topic) => {
      onEvent('DUPLICATE_MESSAGE')
      // Each copy of a rejected message counts against its sender, as gossipsub has it.
      const rejection = flow.rejectionOf(id)
      if (rejection !== undefined) modules.onRejectedAgain(from, rejection.version, rejection.verdict)
      else guard.onKnown(from)
      duplicateMessage(from, id, topic)
    }
    const addPenalty = score.addPenalty.bind(score)
    score.addPenalty = (peerId, penalty, label) => {
      addPenalty(peerId, penalty, label)
      modules.onPenalty(peerId, label)
    }
    return (peerId, points) => {
      // Who has not spoken gossip yet has no counters: it is to find these when it does.
      if (!score.peerStats.has(peerId)) {
        retained.restore(peerId, { topics: {}, behaviourPenalty: 0 }, scoring.params.retainScore)
      }
      addPenalty(peerId, points, 'offence')
      if (points > 0) retained.holdAgainst(peerId)
    }
  }

  const built = (): Parts => {
    if (parts === undefined) throw new P2pError('not-running', 'gossip is not running')
    return parts
  }
  const topicOf = (version: PayloadVersion): string => topics.byVersion.get(version) ?? ''

  return {
    service: create,
    join() {
      const { gossip } = built()
      for (const topic of names) {
        gossip.subscribe(topic)
        onEvent('JOIN')
      }
      isJoined = true
    },
    leave() {
      if (isJoined) onEvent('LEAVE', names.length)
      isJoined = false
    },
    async publish(version, message) {
      const { internals, flow, isSmall } = built()
      const topic = topicOf(version)
      const compressed = compressSnappy(message.bytes)
      flow.addOwn(compressed, message)
      const { recipients } = await internals.publish(topic, compressed, {
        floodPublish: options.floodPublish || isSmall(topic),
      })
      onEvent('PUBLISH_MESSAGE')
      return new Set(recipients.map((peer) => peer.toString())).size
    },
    meshPeers: (version) => [...(parts?.internals.mesh.get(topicOf(version)) ?? [])],
    subscribers: (version) => [...(parts?.internals.topics.get(topicOf(version)) ?? [])],
    isSubscribed: (peerId) => names.some((topic) => parts?.internals.topics.get(topic)?.has(peerId) === true),
    score: (peerId) => parts?.internals.score.score(peerId) ?? 0,
    counters: (peerId) => parts?.internals.score.peerStats.get(peerId),
    restore: (peerId, saved, forMs) => parts?.retained.restore(peerId, saved, forMs),
    forgive: (peerId) => parts?.retained.forgive(peerId),
    setCarrier(version) {
      if (version === carrier) return
      carrier = version
      const params = scoring.topicsFor(version)
      if (params === undefined) return
      // The library weighs with a copy of its own.
      Object.assign(scoring.params.topics, params)
      if (parts !== undefined) Object.assign(parts.internals.score.params.topics, structuredClone(params))
    },
    streams: {
      moveTo: (connection) => parts?.streams.moveTo(connection),
      repair: (peerId) => parts?.streams.repair(peerId),
      forget: (peerId) => parts?.streams.forget(peerId),
    },
    penalise: (peerId, points) => parts?.penalise(peerId, points),
    peersOnIp: (ip) => [...(parts?.internals.score.peerIPs.get(ip) ?? [])],
  }
}
