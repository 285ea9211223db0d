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
import { controlRpc, type GossipInternals, peerNamed } from './adapter.ts'
import type { EntranceHandlers } from './entrance.ts'
import type { Forwarder } from './forward.ts'
import type { GossipHistory } from './gossipHistory.ts'
import { createRpcGuard } from './guard.ts'
import { readFrames } from './inboundFrames.ts'
import { allowedBytes, type InboundMessage, inboundMessage } from './inboundMessage.ts'
import type { MessageIds } from './knownMessages.ts'
import { createLoopBudget, GOSSIP_OVERLOADED } from './loopBudget.ts'
import { countMissed } from './missedBlocks.ts'
import type { GossipScoring } from './scoreParams.ts'

export interface InboundModules {
  gossip: GossipInternals
  events: P2pEvents
  quotas: PeerQuotas
  topics: Pick<ChainTopics, 'versionOf'>
  scoring: GossipScoring
  ids: MessageIds
  /** Validates a message of a block topic. Only accepted messages are forwarded. */
  validate(version: PayloadVersion, unpacked: Unpacked): Verdict | Promise<Verdict>
  history: Pick<GossipHistory, 'onValid'>
  forwarder: Pick<Forwarder, 'forward'>
  connectionsOf(peerId: PeerId): Connection[]
  forget(peerId: PeerId): void
  setTimeout(callback: () => void, delayMs: number): () => void
  /** An unexpected error while handling an RPC: a fault of this node. */
  onUnexpected(error: unknown): void
}

/** A 10 MiB frame at one megabit per second takes longer. A chain cannot be followed at that rate. */
const FRAME_TIMEOUT_MS = 60_000
const MAX_BACKLOG_BYTES = 2 * MAX_GOSSIP_BYTES
/** Messages of one peer in validation, and waiting: the answer to one IWANT may bring many. */
const PER_PEER = { atOnce: 8, maxWaiting: 1_000 }
/**
 * Uncompressed bytes in validation for all peers together: six of the largest blocks. In addition each peer may always
 * have one message.
 */
const MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024
/** Rejected messages that are remembered, so that copies of them are penalised. */
const REJECTED_REMEMBERED = 512
/** For smaller messages, avoiding a copy saves nothing. */
const LARGE_FORWARD_BYTES = 16 * 1024
/**
 * Iterations of the event loop between a block's delivery to this node and its forwarding; microseconds in an idle
 * process. In this iteration, first copies in the sockets are read before more copies are written.
 */
const FORWARD_TURNS = 1
/**
 * The same for large messages. Peers that received the block at the same time send IDONTWANT. An IDONTWANT sent in one
 * iteration is read in the next one, which saves most copies.
 */
const LARGE_FORWARD_TURNS = 2

/**
 * The path of everything that peers gossip: from a stream's bytes to a block's verdict, and on to other peers. The
 * library handles control messages and subscriptions. Messages never reach it: this module computes their ids, finds
 * duplicates, validates, delivers and forwards.
 */
export function createInbound(
  modules: InboundModules,
  options: { idontwantMinBytes: number; graylistThreshold: number },
): EntranceHandlers {
  const { gossip, events, quotas, topics, scoring, ids } = modules
  const { score, gossipTracer: tracer } = gossip
  const largeForwardBytes = Math.max(LARGE_FORWARD_BYTES, options.idontwantMinBytes)
  const admitRpc = createRpcGuard(
    { gossip, quotas, versionOf: topics.versionOf, onAuthor: (peer, version) => events.emit('author', peer, version) },
    options,
  )
  const limiter = createPerPeerLimiter(PER_PEER)
  const loopBudget = createLoopBudget()
  const rejected = new LruMap<string, Verdict>(REJECTED_REMEMBERED)
  let inFlightBytes = 0

  const streams = new Map<string, Stream>()
  const onStream = (peerId: PeerId, stream: Stream): void => {
    const from = peerId.toString()
    if (peerNamed(gossip, from) === undefined) return
    // Resets the earlier stream, as go-libp2p-pubsub does. Otherwise it would keep delivering.
    const prior = streams.get(from)
    streams.set(from, stream)
    prior?.abort(new Error('replaced by a new stream'))
    readFrames(
      {
        stream,
        onFrame(frame) {
          // Skip frames of a replaced stream. For a removed peer they would create state that is never deleted.
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
          // A reconnected peer sent its subscriptions once, on the new connection. The end of the old stream must not
          // delete them.
          const isConnected = modules.connectionsOf(peerId).some(({ status }) => status === 'open')
          if (error !== undefined && !isConnected) modules.forget(peerId)
        },
        setTimeout: modules.setTimeout,
      },
      { maxFrameBytes: MAX_GOSSIP_BYTES, maxBacklogBytes: MAX_BACKLOG_BYTES, frameTimeoutMs: FRAME_TIMEOUT_MS },
    )
  }
  /** A peer that is still connected must open a new stream to gossip again. */
  const onRemoved = (from: string): void => {
    const stream = streams.get(from)
    streams.delete(from)
    stream?.abort(new Error('the peer was removed from gossip'))
  }

  const receive = (peerId: PeerId, from: string, frame: Uint8Array): void => {
    const rpc = admitRpc(from, frame)
    if (rpc === undefined) return
    events.emit('traced', 'RECV_RPC', 1)
    const { messages, control } = rpc
    if (control !== undefined || rpc.subscriptions.length > 0) {
      gossip.handleReceivedRpc(peerId, { ...rpc, messages: [] }).catch(modules.onUnexpected)
    }
    for (const { topic, data = new Uint8Array(0) } of messages) {
      const version = topics.versionOf(topic)
      if (version !== undefined) enqueue(inboundMessage({ from, topic, version, data }))
    }
  }

  /** Checks the peer's message budgets, then queues the message behind the peer's other messages. */
  const enqueue = (message: InboundMessage): void => {
    const { from } = message
    const bytes = Math.max(message.data.length, allowedBytes(message))
    if (!quotas.spend(from, 'messages') || !quotas.spend(from, 'messageBytes', bytes)) {
      quotas.drop(from, 'message-flood')
      return
    }
    const work = async (): Promise<void> => {
      // One message of each peer is always admitted. Otherwise many unauthenticated peers could use up the byte limit
      // together.
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

  /** Returns the outcome: a new block, a copy of a message that is not bad, or anything else. */
  const handle = async (message: InboundMessage): Promise<'new' | 'copy' | 'bad'> => {
    const whenFree = loopBudget.take()
    if (whenFree !== undefined) await whenFree
    const identifying = loopBudget.measure(() => ids.identify(message))
    const identified = identifying instanceof Promise ? await identifying : identifying
    const { from, topic, version, data } = message
    const id = idText(identified.id)
    if (gossip.seenCache.has(id)) return handleCopy(message, id)
    gossip.seenCache.put(id)
    if (data.length >= options.idontwantMinBytes) sendIdontwant(identified.id, topic, from)

    const validating = loopBudget.measure(() => modules.validate(version, identified.unpacked))
    const verdict = validating instanceof Promise ? await validating : validating
    onVerdict(message, identified.id, verdict)
    if (verdict.result !== 'accept') {
      // The message is dropped for `ignore` and for `reject`. Only a `reject` may lower the sender's score.
      const isPenalised = verdict.result === 'reject' && scoring.penalises(verdict.reason)
      const cause = isPenalised ? RejectReason.Reject : RejectReason.Ignore
      score.rejectMessage(from, id, topic, cause)
      tracer.rejectMessage(id, cause)
      return 'bad'
    }
    await loopTurns(data.length < largeForwardBytes ? FORWARD_TURNS : LARGE_FORWARD_TURNS)
    score.validateMessage(id)
    tracer.deliverMessage(id)
    const forwarded = { topic, data }
    gossip.mcache.put({ msgId: identified.id, msgIdStr: id }, forwarded, true)
    score.deliverMessage(from, id, topic)
    await modules.forwarder.forward(id, forwarded, from)
    return 'new'
  }

  /** Sends IDONTWANT to mesh peers that support it. */
  const sendIdontwant = (id: Uint8Array, topic: string, from: string): void => {
    for (const peerId of gossip.mesh.get(topic) ?? []) {
      if (peerId === from || gossip.streamsOutbound.get(peerId)?.rawStream.protocol !== multicodec) continue
      gossip.sendRpc(peerId, controlRpc({ idontwant: [{ messageIDs: [id] }] }))
    }
  }

  /** Records a message without a verdict, or one that was not forwarded. No peer is penalised. */
  const onFailure = ({ from, version }: InboundMessage, error: unknown): void => {
    // Under overload too many messages fail at once, so they are not reported one by one.
    if (error instanceof DeviumError && error.code === GOSSIP_OVERLOADED) return
    const reason = error instanceof InspectionFailure ? error.reason : 'internal-error'
    events.emit('verdict', from, version, { result: 'ignore', reason, detail: describeError(error) })
  }

  /** Penalises the sender of a copy of a rejected message. */
  const handleCopy = ({ from, topic, version }: InboundMessage, id: string): 'copy' | 'bad' => {
    events.emit('traced', 'DUPLICATE_MESSAGE', 1)
    const rejection = rejected.get(id)
    if (rejection !== undefined) events.emit('rejectedAgain', from, version, rejection)
    score.duplicateMessage(from, id, topic)
    tracer.deliverMessage(id, true)
    return rejection === undefined ? 'copy' : 'bad'
  }

  /** Emits the verdict, and delivers an accepted block. */
  const onVerdict = (message: InboundMessage, msgId: Uint8Array, verdict: Verdict): void => {
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

  return { onStream, onRemoved }
}
