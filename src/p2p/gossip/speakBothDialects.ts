import { snappyDeclaredLength } from '../snappyBlock.ts'
import type { GossipInternals, MessageIdList } from './gossipInternals.ts'
import { type IdDialects, idText, type MessageNames } from './idDialects.ts'
import { messageId, unpackMessage } from './messageId.ts'

type DialectInternals = Pick<GossipInternals, 'idontwants' | 'handleIHave' | 'handleIdontwant' | 'pushGossip'> &
  Pick<GossipInternals, 'gossipTracer' | 'sendRpcInBatch' | 'peers' | 'heartbeatTicks'>

/** Ids of one control message that a peer's form is learned from. */
const MAX_HEARD = 64

/** What the router tells of the messages that come by. */
export interface DialectHooks {
  /** Whether a message's id without topic is wanted: every peer has shown that it uses the other, and owes us nothing. */
  needsBoth(): boolean
  /** A message is here, whatever becomes of it: a promise of it is kept, by whatever name it was given. */
  onIdentified(names: MessageNames): void
  /** It is valid, and about to be passed on. */
  onValid(names: MessageNames, message: { topic: string; data: Uint8Array }): void
}

/** Valid messages without second id that are remembered: more than mcache tells of. */
const MAX_LACKING = 64
/** Of them unpacked, but for the last one: a MB takes 1 ms to unpack and hash, and all are in one turn of the event loop. */
const MAX_LACKING_BYTES = 8 * 1024 * 1024

/**
 * Lets gossipsub, whose own messages have one id each, understand and speak both forms of it. Ids that come in are
 * translated by `IdDialects.nameInside` (the library's `msgIdToStrFn`); this does what goes out, and what came in before
 * the message that it names.
 */
export function speakBothDialects(target: DialectInternals, dialects: IdDialects): DialectHooks {
  const hear = (peerId: string, lists: readonly MessageIdList[]): void => {
    let heard = 0
    for (const { messageIDs } of lists) {
      for (const id of messageIDs ?? []) {
        heard += 1
        if (heard > MAX_HEARD) return
        dialects.hear(peerId, id)
      }
    }
  }
  /** Looked at once a heartbeat, and when peers come or go. */
  let looked = { heartbeat: -1, peers: -1, needsBoth: true }
  const lacking = createLackingMessages()

  const isBothNeeded = (): boolean => {
    // What was asked for may be on its way under a name that only the second id explains.
    if (target.gossipTracer.promises.size > 0) return true
    const { heartbeatTicks: heartbeat, peers } = target
    if (looked.heartbeat !== heartbeat || looked.peers !== peers.size) {
      const needsBoth = [...peers.keys()].some((peerId) => dialects.shownBy(peerId) !== 'with-topic')
      looked = { heartbeat, peers: peers.size, needsBoth }
    }
    return looked.needsBoth
  }
  /** A peer has come that may use the second id: it is about to be told of the last messages, or tells of them. */
  const needsBoth = (): boolean => {
    if (!isBothNeeded()) return false
    for (const { withTopic, topic, data } of lacking.takeAll()) {
      dialects.learnMessage({ withTopic, withoutTopic: messageId(topic, data, unpackMessage(data), 'without-topic') })
    }
    return true
  }

  const handleIHave = target.handleIHave.bind(target)
  target.handleIHave = (peerId, ihave) => {
    needsBoth()
    hear(peerId, ihave)
    return handleIHave(peerId, ihave)
  }
  const handleIdontwant = target.handleIdontwant.bind(target)
  target.handleIdontwant = (peerId, idontwant) => {
    needsBoth()
    hear(peerId, idontwant)
    handleIdontwant(peerId, idontwant)
  }
  const translated = <T extends MessageIdList>(peerId: string, list: T): T => ({
    ...list,
    messageIDs: list.messageIDs.map((id) => dialects.nameFor(peerId, id)),
  })
  const pushGossip = target.pushGossip.bind(target)
  target.pushGossip = (peerId, ihave) => {
    needsBoth()
    pushGossip(peerId, translated(peerId, ihave))
  }
  const sendRpcInBatch = target.sendRpcInBatch.bind(target)
  target.sendRpcInBatch = (peers, rpc) => {
    const idontwant = rpc.control?.idontwant ?? []
    if (idontwant.length === 0) return sendRpcInBatch(peers, rpc)
    const others = new Set([...peers].filter((peerId) => dialects.dialectOf(peerId) === 'without-topic'))
    const [first] = others
    if (first === undefined) return sendRpcInBatch(peers, rpc)
    sendRpcInBatch(new Set([...peers].filter((peerId) => !others.has(peerId))), rpc)
    const control = { ...rpc.control, idontwant: idontwant.map((list) => translated(first, list)) }
    sendRpcInBatch(others, { ...rpc, control })
  }
  return {
    needsBoth,
    onIdentified(names) {
      if (names.withoutTopic === undefined) return
      dialects.learnNames(names)
      const withTopic = idText(names.withTopic)
      const withoutTopic = idText(names.withoutTopic)
      const { promises } = target.gossipTracer
      for (const peerId of promises.get(withTopic)?.keys() ?? []) dialects.setDialect(peerId, 'with-topic')
      for (const peerId of promises.get(withoutTopic)?.keys() ?? []) dialects.setDialect(peerId, 'without-topic')
      target.gossipTracer.deliverMessage(withoutTopic)
    },
    onValid(names, { topic, data }) {
      if (names.withoutTopic === undefined) {
        lacking.add({ withTopic: names.withTopic, topic, data })
        return
      }
      dialects.learnMessage(names)
      const withTopic = idText(names.withTopic)
      const withoutTopic = idText(names.withoutTopic)
      for (const [peerId, ids] of target.idontwants) {
        const heartbeat = ids.get(withoutTopic)
        if (heartbeat === undefined) continue
        ids.set(withTopic, heartbeat)
        dialects.setDialect(peerId, 'without-topic')
      }
    },
  }
}

interface LackingMessage {
  withTopic: Uint8Array
  topic: string
  data: Uint8Array
}

/** Valid messages of late that have no second id. */
function createLackingMessages() {
  const byId = new Map<string, LackingMessage & { bytes: number }>()
  let bytes = 0
  const remove = (id: string): void => {
    bytes -= byId.get(id)?.bytes ?? 0
    byId.delete(id)
  }
  return {
    add(message: LackingMessage): void {
      const id = idText(message.withTopic)
      remove(id)
      const entry = { ...message, bytes: snappyDeclaredLength(message.data) }
      byId.set(id, entry)
      bytes += entry.bytes
      for (const oldest of byId.keys()) {
        if (oldest === id || (byId.size <= MAX_LACKING && bytes <= MAX_LACKING_BYTES)) return
        remove(oldest)
      }
    },
    takeAll(): LackingMessage[] {
      const all = [...byId.values()]
      byId.clear()
      bytes = 0
      return all
    },
  }
}
