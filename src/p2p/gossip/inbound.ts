import { multicodec } from '@chainsafe/libp2p-gossipsub'
import { RejectReason } from '@chainsafe/libp2p-gossipsub/types'
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import { DeviumError, describeError } from '../../lib/errors.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { loopTurns } from '../../lib/nextTurn.ts'
import type { P2pEvents } from '../base/events.ts'
import { createPerPeerLimiter } from '../base/perPeerLimiter.ts'
import type { ChainTopics, PayloadVersion } from '../base/topics.ts'
import type { Verdict } from '../base/verdict.ts'
import { InspectionFailure } from '../inspection/inspectionProcess.ts'
import { MAX_GOSSIP_BYTES } from '../inspection/largeMessages.ts'
import { idText, type Unpacked } from '../inspection/messageId.ts'
import type { PeerQuotas } from '../quotas/quotas.ts'
import { type GossipInternals, peerNamed } from './adapter.ts'
import type { EntranceHandlers } from './entrance.ts'
import { createFairTurns, GOSSIP_OVERLOADED } from './fairTurns.ts'
import type { Forwarder } from './forward.ts'
import type { GossipHistory } from './gossipHistory.ts'
import { createRpcGuard } from './guard.ts'
import { readFrames } from './inboundFrames.ts'
import { allowedBytes, type InboundMessage, inboundMessage } from './inboundMessage.ts'
import type { MessageIds } from './knownMessages.ts'
import { countMissed } from './missedBlocks.ts'
import type { GossipScoring } from './scoreParams.ts'

export interface InboundModules {
  gossip: GossipInternals
  events: P2pEvents
  quotas: PeerQuotas
  topics: Pick<ChainTopics, 'versionOf'>
  scoring: GossipScoring
  ids: MessageIds
  /** Judges a message of a block topic; the verdict decides whether it travels on. */
  validate(version: PayloadVersion, unpacked: Unpacked): Verdict | Promise<Verdict>
  history: Pick<GossipHistory, 'onValid'>
  forwarder: Pick<Forwarder, 'forward'>
  /** Open connections of a peer. */
  connectionsOf(peerId: PeerId): Connection[]
  /** Has the library forget a peer. */
  forget(peerId: PeerId): void
  setTimeout(callback: () => void, delayMs: number): () => void
  /** Our own fault, of an RPC. */
  onUnexpected(error: unknown): void
}

/** A frame of 10 MiB over a megabit a second takes longer; nobody follows a chain over that. */
const FRAME_TIMEOUT_MS = 60_000
const MAX_BACKLOG_BYTES = 2 * MAX_GOSSIP_BYTES
/** Messages of one peer under judgement at once, and waiting behind them: an IWANT's answer may bring many. */
const PER_PEER = { atOnce: 8, maxWaiting: 1_000 }
/** Unpacked bytes under judgement, of all peers together: six of the largest blocks. One message of each comes on top. */
const MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024
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

/**
 * The way of everything that peers gossip, from the bytes of a stream to a block's verdict and on to other peers. Control
 * messages and subscriptions are the library's; messages it never sees: they are named, looked for among those that are
 * known, judged, handed over and passed on here.
 */
export function createInbound(
  modules: InboundModules,
  options: { idontwantMinBytes: number; graylistThreshold: number },
): EntranceHandlers {
  const { gossip, events, quotas, topics, scoring, ids } = modules
  const { score, gossipTracer: tracer } = gossip
  const hearMinBytes = Math.max(HEAR_MIN_BYTES, options.idontwantMinBytes)
  const admit = createRpcGuard(
    { gossip, quotas, versionOf: topics.versionOf, onAuthor: (peer, version) => events.emit('author', peer, version) },
    options,
  )
  const limiter = createPerPeerLimiter(PER_PEER)
  const turns = createFairTurns()
  const rejected = new LruMap<string, Verdict>(REJECTED_REMEMBERED)
  let inFlightBytes = 0

  const streams = new Map<string, Stream>()
  const onStream = (peerId: PeerId, stream: Stream): void => {
    const from = peerId.toString()
    if (peerNamed(gossip, from) === undefined) return
    // Reset, as go-libp2p-pubsub does it; left open, it would go on talking.
    const prior = streams.get(from)
    streams.set(from, stream)
    prior?.abort(new Error('replaced by a new stream'))
    readFrames(
      {
        stream,
        onFrame(frame) {
          // Of a peer that is gone, what still waited would be kept under its name for good.
          if (streams.get(from) !== stream) return
          try {
            receive(peerId, from, frame)
          } catch (error) {
            modules.onUnexpected(error)
          }
        },
        onFault: (fault) => quotas.report(from, fault.code, fault.message),
        onEnd(error) {
          if (streams.get(from) !== stream) return
          streams.delete(from)
          // A peer that has come back on a new connection has told its subscriptions there, once; the end of the dead one
          // must not wipe them out.
          const isConnected = modules.connectionsOf(peerId).some(({ status }) => status === 'open')
          if (error !== undefined && !isConnected) modules.forget(peerId)
        },
        setTimeout: modules.setTimeout,
      },
      { maxFrameBytes: MAX_GOSSIP_BYTES, maxBacklogBytes: MAX_BACKLOG_BYTES, frameTimeoutMs: FRAME_TIMEOUT_MS },
    )
  }
  /** A peer that is still connected must open another stream to be heard again. */
  const onGone = (from: string): void => {
    const stream = streams.get(from)
    streams.delete(from)
    stream?.abort(new Error('the peer has left gossip'))
  }

  const receive = (peerId: PeerId, from: string, frame: Uint8Array): void => {
    const rpc = admit(from, frame)
    if (rpc === undefined) return
    events.emit('traced', 'RECV_RPC', 1)
    const { messages, control } = rpc
    if (control !== undefined || rpc.subscriptions.length > 0) {
      gossip.handleReceivedRpc(peerId, { ...rpc, messages: [] }).catch(modules.onUnexpected)
    }
    for (const { topic, data = new Uint8Array(0) } of messages) {
      const version = topics.versionOf(topic)
      if (version !== undefined) take(inboundMessage({ from, topic, version, data }))
    }
  }

  /** Within the peer's budget, and behind what else it has sent. */
  const take = (message: InboundMessage): void => {
    const { from } = message
    const bytes = Math.max(message.data.length, allowedBytes(message))
    if (!quotas.spend(from, 'messages') || !quotas.spend(from, 'messageBytes', bytes)) {
      quotas.drop(from, 'message-flood')
      return
    }
    const work = async (): Promise<void> => {
      // The first of each peer goes through, so that no crowd of strangers takes all the room.
      if (limiter.active(from) > 1 && inFlightBytes + bytes > MAX_IN_FLIGHT_BYTES) return
      inFlightBytes += bytes
      try {
        const outcome = await handle(message)
        if (outcome !== 'bad') quotas.giveBack(from, 'messages')
        if (outcome === 'new') quotas.giveBack(from, 'messageBytes', bytes)
      } catch (error) {
        onFailure(message, error)
      } finally {
        inFlightBytes -= bytes
      }
    }
    const working = limiter.run(from, work)
    if (working === undefined) quotas.drop(from, 'message-flood')
  }

  /** Tells what it was: a new block, a copy of what is not bad, or anything else. */
  const handle = async (message: InboundMessage): Promise<'new' | 'copy' | 'bad'> => {
    const turn = turns.take()
    if (turn !== undefined) await turn
    const naming = turns.measure(() => ids.identify(message))
    const identified = naming instanceof Promise ? await naming : naming
    const { from, topic, version, data } = message
    const id = idText(identified.id)
    if (gossip.seenCache.has(id)) return handleCopy(message, id)
    gossip.seenCache.put(id)
    if (data.length >= options.idontwantMinBytes) sayHad(identified.id, topic, from)

    const judging = turns.measure(() => modules.validate(version, identified.unpacked))
    const verdict = judging instanceof Promise ? await judging : judging
    settle(message, identified.id, verdict)
    if (verdict.result !== 'accept') {
      // Not accepted either way; gossipsub's scores make the difference.
      const isBlamed = verdict.result === 'reject' && scoring.blames(verdict.reason)
      const cause = isBlamed ? RejectReason.Reject : RejectReason.Ignore
      score.rejectMessage(from, id, topic, cause)
      tracer.rejectMessage(id, cause)
      return 'bad'
    }
    await loopTurns(data.length < hearMinBytes ? PASS_ON_TURNS : HEARING_TURNS)
    score.validateMessage(id)
    tracer.deliverMessage(id)
    const passedOn = { topic, data }
    gossip.mcache.put({ msgId: identified.id, msgIdStr: id }, passedOn, true)
    score.deliverMessage(from, id, topic)
    await modules.forwarder.forward(id, passedOn, from)
    return 'new'
  }

  /** To mesh peers that understand it. */
  const sayHad = (id: Uint8Array, topic: string, from: string): void => {
    for (const peerId of gossip.mesh.get(topic) ?? []) {
      if (peerId === from || gossip.streamsOutbound.get(peerId)?.rawStream.protocol !== multicodec) continue
      const control = { ihave: [], iwant: [], graft: [], prune: [], idontwant: [{ messageIDs: [id] }] }
      gossip.sendRpc(peerId, { subscriptions: [], messages: [], control })
    }
  }

  /** It has no verdict, or was not passed on; nobody is blamed for that. */
  const onFailure = ({ from, version }: InboundMessage, error: unknown): void => {
    // Too many at once to tell of each.
    if (error instanceof DeviumError && error.code === GOSSIP_OVERLOADED) return
    const reason = error instanceof InspectionFailure ? error.reason : 'internal-error'
    events.emit('verdict', from, version, { result: 'ignore', reason, detail: describeError(error) })
  }

  /** Each copy of a rejected message counts against its sender. */
  const handleCopy = ({ from, topic, version }: InboundMessage, id: string): 'copy' | 'bad' => {
    events.emit('traced', 'DUPLICATE_MESSAGE', 1)
    const rejection = rejected.get(id)
    if (rejection !== undefined) events.emit('rejectedAgain', from, version, rejection)
    score.duplicateMessage(from, id, topic)
    tracer.deliverMessage(id, true)
    return rejection === undefined ? 'copy' : 'bad'
  }

  /** Says what became of it, and hands a block over. */
  const settle = (message: InboundMessage, msgId: Uint8Array, verdict: Verdict): void => {
    const { from, topic, version } = message
    const id = idText(msgId)
    events.emit('verdict', from, version, verdict)
    events.emit('traced', verdict.result === 'accept' ? 'DELIVER_MESSAGE' : 'REJECT_MESSAGE', 1)
    if (verdict.result === 'reject') rejected.set(id, verdict)
    if (verdict.result !== 'accept') return
    modules.history.onValid(id, verdict.envelope.payload.timestamp)
    events.emit('block', verdict.envelope, from, 'gossip')
    if (isMissedCounted(topic)) countMissed(gossip, topic, msgId, from)
  }
  const isMissedCounted = (topic: string): boolean => {
    const params = scoring.params.topics[topic]
    return params !== undefined && params.meshMessageDeliveriesWeight === 0 && params.meshFailurePenaltyWeight !== 0
  }

  return { onStream, onGone }
}
