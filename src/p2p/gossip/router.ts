import {
  type GossipSub,
  type GossipSubComponents,
  gossipsub,
  type Message,
  StrictNoSign,
  TopicValidatorResult,
} from '@chainsafe/libp2p-gossipsub'
import type { Connection, PeerId } from '@libp2p/interface'
import type { Logger } from '../../lib/logger.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { P2pError } from '../errors.ts'
import type { P2pOptions } from '../options.ts'
import type { GossipScoring } from '../score/scoreParams.ts'
import type { Verdict } from './blockValidator.ts'
import { createFairTurns } from './fairTurns.ts'
import {
  countMissed,
  type DialectHooks,
  type GossipInternals,
  gossipInternals,
  type PeerCounters,
  speakBothDialects,
} from './gossipInternals.ts'
import { type GossipStreams, manageGossipStreams } from './gossipStreams.ts'
import { type GossipGuard, type GuardModules, guardGossip } from './guard.ts'
import { createIdDialects, idText, type MessageNames } from './idDialects.ts'
import { idFormByProtocols } from './idForm.ts'
import { InspectionFailure } from './inspectionThread.ts'
import { nextTurn } from './largeMessages.ts'
import { type IdentifiedMessage, identifyMessage, type MessageIds, type Unpacked, unpackMessage } from './messageId.ts'
import {
  GOSSIP_PARAMS,
  MAX_INBOUND_GOSSIP_STREAMS,
  MAX_OUTBOUND_BUFFER_BYTES,
  MAX_TOPIC_BYTES_PER_PEER,
  RPC_LIMITS,
} from './params.ts'
import { type RetainedScores, retainScores } from './retainedScores.ts'
import { countRpcs } from './rpcCounts.ts'
import { noteSenders } from './senders.ts'
import type { PayloadVersion } from './topics.ts'

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

export interface GossipRouterModules {
  logger: Logger
  ids: MessageIds
  scoring: GossipScoring
  /** Judges a message of a block topic; the verdict decides whether it travels on. */
  validate(version: PayloadVersion, unpacked: Unpacked): Verdict | Promise<Verdict>
  /** Hears of every judged message. */
  onVerdict(from: string, version: PayloadVersion, verdict: Verdict): void
  /** A new valid block of another node, after it was passed on. */
  onBlock(envelope: PayloadEnvelope, from: string): void
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
  guard: GuardModules
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
  /** Number of peers it was sent to. */
  publish(version: PayloadVersion, data: Uint8Array): Promise<number>
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

/** Rejected messages whose copies are told apart from those of good ones. */
const REJECTED_REMEMBERED = 512

/** Smaller messages are sent as cheaply as not. */
const HEAR_MIN_BYTES = 16 * 1024
/**
 * Turns of the event loop from a block's delivery here to its passing on, microseconds where there is nothing else to do.
 * One: first copies that wait in the sockets are read before any more copies are written.
 */
const PASS_ON_TURNS = 1
/**
 * Of large messages: peers that got the block at the same time say so, and their word is on its way into the sockets. What
 * was sent while one turn reads is read in the next one, and most copies need not be sent.
 */
const HEARING_TURNS = 2

async function turnsLater<T>(result: T | Promise<T>, turns: number): Promise<T> {
  const final = await result
  for (let turn = 0; turn < turns; turn++) await nextTurn()
  return final
}

const RESULTS = {
  accept: TopicValidatorResult.Accept,
  ignore: TopicValidatorResult.Ignore,
  reject: TopicValidatorResult.Reject,
} as const

/** Gossipsub with op-node's parameters over the given topics; messages without author, sequence number and signature. */
export function createGossipRouter(
  modules: GossipRouterModules,
  topics: ReadonlyMap<PayloadVersion, string>,
  options: P2pOptions['gossip'],
): GossipRouter {
  const { ids, scoring } = modules
  const idontwantMinBytes = options.idontwantMinBytes ?? GOSSIP_PARAMS.idontwantMinBytes
  const hearMinBytes = Math.max(HEAR_MIN_BYTES, idontwantMinBytes)
  let instance: GossipSub | undefined
  let internals: GossipInternals | undefined
  let retained: RetainedScores | undefined
  let streams: GossipStreams | undefined
  const turns = createFairTurns()
  const dialects = createIdDialects()
  let names: DialectHooks | undefined
  let senderOf: ((data: Uint8Array) => string | undefined) | undefined
  let guard: GossipGuard | undefined
  let carrier: PayloadVersion | undefined
  let isJoined = false
  const versions = new Map([...topics].map(([version, topic]) => [topic, version]))

  const create = (components: GossipSubComponents): GossipSub => {
    const gossip = gossipsub({
      globalSignaturePolicy: StrictNoSign,
      fallbackToFloodsub: true,
      emitSelf: false,
      doPX: false,
      floodPublish: options.floodPublish,
      allowPublishToZeroTopicPeers: true,
      allowedTopics: [...topics.values()],
      maxTopicBytesPerPeer: MAX_TOPIC_BYTES_PER_PEER,
      decodeRpcLimits: RPC_LIMITS,
      maxInboundStreams: MAX_INBOUND_GOSSIP_STREAMS,
      maxOutboundBufferSize: MAX_OUTBOUND_BUFFER_BYTES,
      // Peers that are to be kept are known to the connection trimmer itself; tags would be database writes.
      tagMeshPeers: false,
      D: options.meshD,
      Dlo: options.meshLow,
      Dhi: options.meshHigh,
      Dlazy: options.meshLazy,
      heartbeatInterval: GOSSIP_PARAMS.heartbeatMs,
      fanoutTTL: GOSSIP_PARAMS.fanoutTtlMs,
      mcacheLength: GOSSIP_PARAMS.historyLength,
      mcacheGossip: GOSSIP_PARAMS.historyGossip,
      seenTTL: GOSSIP_PARAMS.seenTtlMs,
      prunePeers: GOSSIP_PARAMS.prunePeers,
      pruneBackoff: GOSSIP_PARAMS.pruneBackoffMs,
      unsubcribeBackoff: GOSSIP_PARAMS.unsubscribeBackoffMs,
      directConnectTicks: GOSSIP_PARAMS.directConnectTicks,
      opportunisticGraftTicks: GOSSIP_PARAMS.opportunisticGraftTicks,
      opportunisticGraftPeers: GOSSIP_PARAMS.opportunisticGraftPeers,
      graftFloodThreshold: GOSSIP_PARAMS.graftFloodThresholdMs,
      gossipsubIWantFollowupMs: GOSSIP_PARAMS.iwantFollowupMs,
      idontwantMinDataSize: idontwantMinBytes,
      idontwantMaxMessages: GOSSIP_PARAMS.idontwantMaxMessages,
      msgIdFn: identify,
      msgIdToStrFn: dialects.nameInside,
      scoreParams: scoring.params,
      scoreThresholds: scoring.thresholds,
    })(components)
    internals = gossipInternals(gossip)
    countRpcs(internals, modules.onEvent)
    instance = gossip
    for (const [topic, version] of versions) {
      gossip.topicValidators.set(topic, (from, message) => judge(from.toString(), version, message))
    }
    gossip.addEventListener('gossipsub:graft', ({ detail: { peerId, topic, direction } }) => {
      modules.onEvent('GRAFT')
      const version = versions.get(topic)
      if (version === undefined) return
      const isIn = internals?.mesh.get(topic)?.has(peerId) === true
      modules.onMesh('graft', peerId, version, !isIn ? 'refused' : direction === 'inbound' ? 'by-peer' : 'by-us')
    })
    gossip.addEventListener('gossipsub:prune', ({ detail: { peerId, topic, direction } }) => {
      modules.onEvent('PRUNE')
      const version = versions.get(topic)
      if (version !== undefined) modules.onMesh('prune', peerId, version, direction === 'inbound' ? 'by-peer' : 'by-us')
    })
    watchScores(internals)
    retained = retainScores(internals, modules.onLeave)
    serveSmallNetworks(internals)
    guard = guardGossip(gossip, modules.guard, {
      topics: new Set(topics.values()),
      graylistThreshold: scoring.thresholds.graylistThreshold,
    })
    streams = manageGossipStreams(gossip, { ...modules, naming: (peerId) => naming(components, peerId) })
    names = speakBothDialects(internals, dialects)
    senderOf = noteSenders(internals)
    return gossip
  }

  /** What the id was computed from is validated next, right after the library has found the id to be new. */
  const identifiedOf = new WeakMap<Message, { unpacked: Unpacked; names: MessageNames }>()
  const remember = (message: Message, { id, idWithoutTopic, unpacked }: IdentifiedMessage): Uint8Array => {
    const both = { withTopic: id, withoutTopic: idWithoutTopic }
    identifiedOf.set(message, { unpacked, names: both })
    names?.onIdentified(both)
    return id
  }
  /** What this node publishes does not queue behind what strangers send. */
  const own = new WeakSet<Uint8Array>()
  const identify = (message: Message): Uint8Array | Promise<Uint8Array> => {
    if (own.has(message.data)) {
      const identified = identifyMessage(message.topic, message.data, unpackMessage(message.data))
      names?.onValid({ withTopic: identified.id, withoutTopic: identified.idWithoutTopic }, message)
      return remember(message, identified)
    }
    const turn = turns.take()
    const named = () => turns.measure(() => identifyNow(message))
    return turn === undefined ? named() : turn.then(named)
  }
  const identifyNow = (message: Message): Uint8Array | Promise<Uint8Array> => {
    const from = senderOf?.(message.data)
    const identified = ids.idOf(message.topic, message.data, { from, both: names?.needsBoth() ?? true })
    if (!(identified instanceof Promise)) return remember(message, identified)
    return identified.then(
      (result) => remember(message, result),
      (error: unknown) => {
        const version = versions.get(message.topic)
        if (from !== undefined && version !== undefined && error instanceof InspectionFailure) {
          modules.onVerdict(from, version, { result: 'ignore', reason: error.reason, detail: error.message })
        }
        // Without an id the library drops it, and blames nobody.
        throw error
      },
    )
  }

  const judge = (
    from: string,
    version: PayloadVersion,
    message: Message,
  ): TopicValidatorResult | Promise<TopicValidatorResult> => {
    const identified = identifiedOf.get(message)
    identifiedOf.delete(message)
    if (identified === undefined) return TopicValidatorResult.Ignore
    const done = (final: Verdict) => settle(from, version, message, final, identified.names)
    const validate = () => {
      const verdict = turns.measure(() => modules.validate(version, identified.unpacked))
      return verdict instanceof Promise ? verdict.then(done) : done(verdict)
    }
    const turn = turns.goOn()
    const result = turn === undefined ? validate() : turn.then(validate)
    return turnsLater(result, message.data.length < hearMinBytes ? PASS_ON_TURNS : HEARING_TURNS)
  }
  const isMissedCounted = (topic: string): boolean => {
    const params = scoring.params.topics[topic]
    return params !== undefined && params.meshMessageDeliveriesWeight === 0 && params.meshFailurePenaltyWeight !== 0
  }
  const settle = (
    from: string,
    version: PayloadVersion,
    message: Message,
    verdict: Verdict,
    both: MessageNames,
  ): TopicValidatorResult => {
    modules.onVerdict(from, version, verdict)
    // A block seen before in another message is as good as this one to those who tell of it.
    if (verdict.result === 'accept' || verdict.reason === 'already-seen') names?.onValid(both, message)
    if (verdict.result === 'reject') rejected.set(idText(both.withTopic), { version, verdict })
    if (verdict.result === 'accept') {
      guard?.onAccepted(message.data)
      modules.onEvent('DELIVER_MESSAGE')
      modules.onBlock(verdict.envelope, from)
    } else {
      modules.onEvent('REJECT_MESSAGE')
    }
    if (verdict.result === 'accept') {
      const topic = topicOf(version)
      if (internals !== undefined && isMissedCounted(topic)) countMissed(internals, topic, both.withTopic, from)
    }
    // Not accepted either way; gossipsub's scores make the difference.
    if (verdict.result === 'reject' && !scoring.blames(verdict.reason)) return RESULTS.ignore
    return RESULTS[verdict.result]
  }

  let penalise: GossipRouter['penalise'] = () => {}
  /** Each copy of a rejected message counts against its sender, as gossipsub has it. */
  const rejected = new LruMap<string, { version: PayloadVersion; verdict: Verdict }>(REJECTED_REMEMBERED)
  const watchScores = ({ score }: GossipInternals): void => {
    const duplicateMessage = score.duplicateMessage.bind(score)
    score.duplicateMessage = (from, id, topic) => {
      modules.onEvent('DUPLICATE_MESSAGE')
      const known = rejected.get(id)
      if (known !== undefined) modules.onRejectedAgain(from, known.version, known.verdict)
      else guard?.onKnown(from)
      duplicateMessage(from, id, topic)
    }
    const addPenalty = score.addPenalty.bind(score)
    penalise = (peerId, points) => {
      // Who has not spoken gossip yet has no counters: it is to find these when it does.
      if (!score.peerStats.has(peerId)) {
        retained?.restore(peerId, { topics: {}, behaviourPenalty: 0 }, scoring.params.retainScore)
      }
      addPenalty(peerId, points, 'offence')
    }
    score.addPenalty = (peerId, penalty, label) => {
      addPenalty(peerId, penalty, label)
      modules.onPenalty(peerId, label)
    }
  }

  /**
   * The library passes a block on to mesh peers only. In a network smaller than the mesh's low mark each lost link
   * would lose blocks until the next lazy gossip, so there everybody gets it; and so does, always, a static peer.
   */
  const serveSmallNetworks = (target: GossipInternals): void => {
    const original = target.selectPeersToForward.bind(target)
    target.selectPeersToForward = (topic, source, exclude) => {
      const chosen = original(topic, source, exclude)
      const small = (target.mesh.get(topic)?.size ?? 0) < options.meshLow
      for (const id of target.topics.get(topic) ?? []) {
        if (chosen.has(id) || id === source || exclude?.has(id) === true) continue
        if (!small && !modules.isAlwaysServed(id)) continue
        if (target.score.score(id) >= scoring.thresholds.publishThreshold) chosen.add(id)
      }
      return chosen
    }
  }

  /** From what it has said, else from what it is. */
  const naming = async ({ peerStore }: GossipSubComponents, peerId: PeerId) => {
    const id = peerId.toString()
    const form = dialects.shownBy(id) ?? idFormByProtocols((await peerStore.get(peerId)).protocols)
    if (form === undefined) return undefined
    if (form === 'with-topic') return (messageId: Uint8Array) => messageId
    dialects.setDialect(id, form)
    return (messageId: Uint8Array) => {
      const name = dialects.nameFor(id, messageId)
      return name === messageId ? undefined : name
    }
  }

  const running = (): { gossip: GossipSub; internals: GossipInternals } => {
    if (instance === undefined || internals === undefined) throw new P2pError('not-running', 'gossip is not running')
    return { gossip: instance, internals }
  }
  const topicOf = (version: PayloadVersion): string => topics.get(version) ?? ''

  return {
    service: create,
    join() {
      const { gossip } = running()
      for (const topic of topics.values()) {
        gossip.subscribe(topic)
        modules.onEvent('JOIN')
      }
      isJoined = true
    },
    leave() {
      if (isJoined) modules.onEvent('LEAVE', topics.size)
      isJoined = false
    },
    async publish(version, data) {
      const { internals: target } = running()
      const topic = topicOf(version)
      own.add(data)
      const small = (target.mesh.get(topic)?.size ?? 0) < options.meshLow
      const { recipients } = await target.publish(topic, data, { floodPublish: options.floodPublish || small })
      const sent = new Set(recipients.map((peer) => peer.toString()))
      modules.onEvent('PUBLISH_MESSAGE')
      return sent.size
    },
    meshPeers: (version) => [...(internals?.mesh.get(topicOf(version)) ?? [])],
    subscribers: (version) => [...(internals?.topics.get(topicOf(version)) ?? [])],
    isSubscribed: (peerId) => [...topics.values()].some((topic) => internals?.topics.get(topic)?.has(peerId) === true),
    score: (peerId) => internals?.score.score(peerId) ?? 0,
    counters: (peerId) => internals?.score.peerStats.get(peerId),
    restore: (peerId, saved, forMs) => retained?.restore(peerId, saved, forMs),
    forgive: (peerId) => retained?.forgive(peerId),
    setCarrier(version) {
      if (version === carrier) return
      carrier = version
      const params = scoring.topicsFor(version)
      if (params === undefined) return
      // The library weighs with a copy of its own.
      Object.assign(scoring.params.topics, params)
      if (internals !== undefined) Object.assign(internals.score.params.topics, structuredClone(params))
    },
    streams: {
      moveTo: (connection) => streams?.moveTo(connection),
      repair: (peerId) => streams?.repair(peerId),
    },
    penalise: (peerId, points) => penalise(peerId, points),
    peersOnIp: (ip) => [...(internals?.score.peerIPs.get(ip) ?? [])],
  }
}
