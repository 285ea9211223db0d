import type { PeerId, Stream, StreamCloseEvent } from '@libp2p/interface'
import { EMPTY_BYTES } from '../../lib/bytes.ts'
import { DecodeError, describeError } from '../../lib/errors.ts'
import type { PeerConduct } from '../score/conduct.ts'
import { snappyDeclaredLength } from '../snappyBlock.ts'
import type { FrameError } from './frameAssembler.ts'
import { checkGossipMembers } from './gossipInternals.ts'
import { readFrames } from './inboundFrames.ts'
import { createKnownFrames, type KnownMessage } from './knownFrames.ts'
import { createLanes } from './lanes.ts'
import { MAX_GOSSIP_BYTES } from './params.ts'
import { checkRpcShape } from './rpcShape.ts'

/** A message as it came. Under StrictNoSign the last four are forbidden (libp2p specs: pubsub, "Signature policy"). */
interface RpcMessage {
  topic: string
  data?: Uint8Array
  from?: Uint8Array
  seqno?: Uint8Array
  signature?: Uint8Array
  key?: Uint8Array
}

interface DecodedRpc {
  subscriptions: unknown[]
  messages: RpcMessage[]
  control?: { ihave: { messageIDs: Uint8Array[] }[]; prune: { backoff?: number }[] }
}

interface InboundStream {
  readonly rawStream: Stream
  close(): Promise<void>
}

/** The members of the library's gossipsub that what comes in goes through. */
interface GuardedInternals {
  readonly peers: Map<string, PeerId>
  readonly streamsInbound: Map<string, InboundStream>
  readonly streamsOutbound: Map<string, { readonly rawStream: Stream }>
  readonly score: {
    score(peerId: string): number
    /** An invalid message, of which nothing more is known. */
    rejectInvalidMessage(peerId: string, topic: string): void
    duplicateMessage(peerId: string, id: string, topic: string): void
  }
  createInboundStream(peerId: PeerId, stream: Stream): void
  createOutboundStream(peerId: PeerId, connection: object): Promise<void>
  readonly seenCache: { has(id: string): boolean }
  readonly gossipTracer: { deliverMessage(id: string, isDuplicate: boolean): void }
  /** Throws what it likes on damaged bytes. */
  decodeRpc(bytes: Uint8Array): DecodedRpc
  handleReceivedRpc(from: PeerId, rpc: DecodedRpc): Promise<void>
  handleReceivedMessage(from: PeerId, message: RpcMessage): Promise<void>
  /** What a broken stream means for its peer. */
  handlePeerReadStreamError(error: Error, peerId: PeerId): void
}

export interface GuardModules {
  conduct: PeerConduct
  setTimeout(callback: () => void, delayMs: number): () => void
  /** A message that says who wrote it. */
  onAuthor(peerId: string, topic: string): void
  /** It leaves more unread than we keep for it. */
  onSlowReader(peerId: string): void
  /** A frame that is the copy of one that is known: no RPC comes of it. */
  onCopy(): void
  onUnexpected(error: unknown): void
}

export interface GossipGuard {
  /** The message with these bytes was a new block: it costs its sender nothing. */
  onAccepted(data: Uint8Array, message: KnownMessage): void
  /** A message of this peer was the copy of one that is known, and no bad one. */
  onKnown(peerId: string): void
}

/** A frame of 10 MiB over a megabit a second takes longer; nobody follows a chain over that. */
const FRAME_TIMEOUT_MS = 60_000
const MAX_BACKLOG_BYTES = 2 * MAX_GOSSIP_BYTES
/** Messages of one peer under judgement at once, and waiting behind them: an IWANT's answer may bring many. */
const LANE = { atOnce: 8, maxWaiting: 1_000 }
/** Unpacked bytes under judgement, of all peers together: six of the largest blocks. One message of each comes on top. */
const MAX_IN_FLIGHT_BYTES = 64 * 1024 * 1024
/** Seconds. A peer that wants to be left alone for longer may say so again. */
const MAX_BACKOFF_S = 3_600
/** Ids of one IHAVE that are heard of. An honest peer tells of the blocks of the last 1.5 s. */
const MAX_IHAVE_IDS = 250
/** Members of a dropped RPC that count as one more. */
const FIELDS_PER_DROP = 50

/**
 * Stands before gossipsub: reads the streams of peers frame by frame, and lets in only what is decodable and within the
 * peer's budget. `topics`: those whose messages are scored.
 */
export function guardGossip(
  instance: object,
  modules: GuardModules,
  options: { topics: ReadonlySet<string>; graylistThreshold: number },
): GossipGuard {
  const { conduct } = modules
  const target = guardedInternals(instance)
  const known = createKnownFrames()

  const onFrame = (peerId: PeerId, id: string, frame: Uint8Array): void => {
    if (!conduct.spend(id, 'rpcs')) {
      conduct.drop(id, 'rpc-flood')
      return
    }
    const copy = known.find(frame)
    if (copy !== undefined && target.seenCache.has(copy.id)) {
      onCopy(id, copy)
      return
    }
    // The library would decode it first, and forgives 128 RPCs a second of a peer that was good a second ago.
    if (target.score.score(id) < options.graylistThreshold) return
    const rpc = decode(id, frame)
    if (rpc === undefined) return
    const [message] = rpc.messages
    if (message?.data !== undefined && isAlone(rpc)) known.note(frame, message.data)
    dropAuthors(id, rpc)
    limitSubscriptions(id, rpc)
    limitIds(rpc)
    for (const prune of rpc.control?.prune ?? []) {
      if (prune.backoff !== undefined && prune.backoff > MAX_BACKOFF_S) prune.backoff = MAX_BACKOFF_S
    }
    target.handleReceivedRpc(peerId, rpc).catch(modules.onUnexpected)
  }
  let isCopyCounted = false
  /** What the library does with a copy, without asking for its id. */
  const onCopy = (id: string, { topic, id: messageId }: KnownMessage): void => {
    modules.onCopy()
    isCopyCounted = true
    target.score.duplicateMessage(id, messageId, topic)
    isCopyCounted = false
    target.gossipTracer.deliverMessage(messageId, true)
  }
  const decode = (id: string, frame: Uint8Array): DecodedRpc | undefined => {
    try {
      const fields = checkRpcShape(frame)
      if (!conduct.spend(id, 'fields', fields)) {
        conduct.drop(id, 'rpc-flood', 1 + Math.floor(fields / FIELDS_PER_DROP))
        return undefined
      }
      return target.decodeRpc(frame)
    } catch (error) {
      conduct.report(id, 'bad-rpc', error instanceof DecodeError ? error.message : `rpc: ${describeError(error)}`)
      return undefined
    }
  }
  /** The library looks at three of the four fields, and would pass a `from` on. */
  const dropAuthors = (id: string, rpc: DecodedRpc): void => {
    if (!rpc.messages.some(hasAuthor)) return
    for (const { topic } of rpc.messages.filter(hasAuthor)) {
      if (!options.topics.has(topic)) continue
      target.score.rejectInvalidMessage(id, topic)
      modules.onAuthor(id, topic)
    }
    rpc.messages = rpc.messages.filter((message) => !hasAuthor(message))
  }
  const limitSubscriptions = (id: string, rpc: DecodedRpc): void => {
    const count = rpc.subscriptions.length
    if (count === 0 || conduct.spend(id, 'subscriptions', count)) return
    conduct.drop(id, 'subscription-flood')
    rpc.subscriptions = []
  }

  /** Each is looked up and kept for the IWANT: the library's 5000 take ten milliseconds. */
  const limitIds = (rpc: DecodedRpc): void => {
    let left = MAX_IHAVE_IDS
    for (const list of rpc.control?.ihave ?? []) {
      if (list.messageIDs.length > left) list.messageIDs = list.messageIDs.slice(0, left)
      left -= list.messageIDs.length
    }
  }

  target.createInboundStream = (peerId, stream) => {
    const id = peerId.toString()
    if (!target.peers.has(id)) return
    // Reset, as go-libp2p-pubsub does it; left open, it would go on talking.
    const prior = target.streamsInbound.get(id)
    const inbound: InboundStream = {
      rawStream: stream,
      // The library does it when it forgets the peer: one that is still connected must open another to be heard again.
      close: async () => stream.abort(new Error('the peer has left gossip')),
    }
    target.streamsInbound.set(id, inbound)
    prior?.rawStream.abort(new Error('replaced by a new stream'))
    readFrames(
      {
        stream,
        onFrame(frame) {
          // Of a peer that is gone, what still waited would be kept under its name for good.
          if (target.streamsInbound.get(id) === inbound) onFrame(peerId, id, frame)
        },
        onFault: (fault: FrameError) => conduct.report(id, fault.code, fault.message),
        onEnd(error) {
          if (target.streamsInbound.get(id) !== inbound) return
          target.streamsInbound.delete(id)
          if (error !== undefined) target.handlePeerReadStreamError(error, peerId)
        },
        setTimeout: modules.setTimeout,
      },
      { maxFrameBytes: MAX_GOSSIP_BYTES, maxBacklogBytes: MAX_BACKLOG_BYTES, frameTimeoutMs: FRAME_TIMEOUT_MS },
    )
  }

  const createOutboundStream = target.createOutboundStream.bind(target)
  target.createOutboundStream = async (peerId, connection) => {
    const id = peerId.toString()
    const before = target.streamsOutbound.get(id)
    await createOutboundStream(peerId, connection)
    const outbound = target.streamsOutbound.get(id)
    if (outbound === before) return
    outbound?.rawStream.addEventListener('close', ({ error }: StreamCloseEvent) => {
      if (error?.name === 'StreamBufferError') modules.onSlowReader(id)
    })
  }

  const accepted = new WeakSet<Uint8Array>()
  const lanes = createLanes(LANE)
  let inFlightBytes = 0
  const handleReceivedMessage = target.handleReceivedMessage.bind(target)
  target.handleReceivedMessage = async (from, message) => {
    const id = from.toString()
    const data = message.data ?? EMPTY_BYTES
    const bytes = unpackedBytes(data)
    if (!conduct.spend(id, 'messages') || !conduct.spend(id, 'messageBytes', bytes)) {
      conduct.drop(id, 'message-flood')
      return
    }
    const judge = async (): Promise<void> => {
      // The first of each peer goes through, so that no crowd of strangers takes all the room.
      if (lanes.active(id) > 1 && inFlightBytes + bytes > MAX_IN_FLIGHT_BYTES) return
      inFlightBytes += bytes
      try {
        await handleReceivedMessage(from, message)
      } finally {
        inFlightBytes -= bytes
        if (accepted.delete(data)) {
          conduct.giveBack(id, 'messages')
          conduct.giveBack(id, 'messageBytes', bytes)
        }
      }
    }
    const judging = lanes.run(id, judge)
    if (judging === undefined) conduct.drop(id, 'message-flood')
    await judging
  }
  return {
    onAccepted(data, message) {
      accepted.add(data)
      known.add(data, message)
    },
    onKnown(peerId) {
      // A copy that was never a message here has cost no more than its RPC.
      if (!isCopyCounted) conduct.giveBack(peerId, 'messages')
    },
  }
}

function guardedInternals(instance: object): GuardedInternals {
  checkGossipMembers(instance, {
    map: ['peers', 'streamsInbound', 'streamsOutbound'],
    function: [
      'score.score',
      'score.rejectInvalidMessage',
      'score.duplicateMessage',
      'seenCache.has',
      'gossipTracer.deliverMessage',
      'createInboundStream',
      'createOutboundStream',
      'decodeRpc',
      'handleReceivedRpc',
      'handleReceivedMessage',
      'handlePeerReadStreamError',
    ],
  })
  return instance as GuardedInternals
}

function isAlone({ messages, subscriptions, control }: DecodedRpc): boolean {
  return messages.length === 1 && subscriptions.length === 0 && control === undefined
}

function hasAuthor({ from, seqno, signature, key }: RpcMessage): boolean {
  return from !== undefined || seqno !== undefined || signature !== undefined || key !== undefined
}

/** What it may take in memory, by its own word: no more than is allowed, and no less than it is. */
function unpackedBytes(data: Uint8Array): number {
  try {
    return Math.max(data.length, Math.min(snappyDeclaredLength(data), MAX_GOSSIP_BYTES))
  } catch {
    return data.length
  }
}
