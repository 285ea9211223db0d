import type { MessageNames } from '../inspection/messageId.ts'
import type { Around, DecodedRpc, GossipInternals, MessageIdList } from './adapter.ts'
import { type IdDialects, idText } from './idDialects.ts'

type DialectInternals = Pick<GossipInternals, 'idontwants'> & {
  gossipTracer: Pick<GossipInternals['gossipTracer'], 'promises' | 'deliverMessage'>
}

/** Ids of one control message that a peer's form is learned from. */
const MAX_HEARD = 64

/** What is told of messages that come by, and what takes the place of the library's own. */
export interface DialectHooks {
  /** A message is here, whatever becomes of it: a promise of it is kept, by whatever name it was given. */
  onIdentified(names: MessageNames): void
  /** It is valid, and about to be passed on. */
  onValid(names: MessageNames): void
  /** A peer says what it has and does not want: it computed those ids itself. */
  hear(peerId: string, control: Pick<NonNullable<DecodedRpc['control']>, 'ihave' | 'idontwant'>): void
  pushGossip: Around<GossipInternals, 'pushGossip'>
  sendRpcInBatch: Around<GossipInternals, 'sendRpcInBatch'>
}

/**
 * Lets gossipsub, whose own messages have one id each, understand and speak both forms of it. Ids that come in are
 * translated by `IdDialects.nameInside` (the library's `msgIdToStrFn`); this does what goes out, and what came in before
 * the message that it names.
 */
export function speakBothDialects(target: DialectInternals, dialects: IdDialects): DialectHooks {
  const learnFrom = (peerId: string, lists: readonly MessageIdList[]): void => {
    const ids = lists.flatMap(({ messageIDs }) => messageIDs.slice(0, MAX_HEARD))
    for (const id of ids.slice(0, MAX_HEARD)) dialects.hear(peerId, id)
  }
  const translated = <T extends MessageIdList>(peerId: string, list: T): T => ({
    ...list,
    messageIDs: list.messageIDs.map((id) => dialects.nameFor(peerId, id)),
  })
  return {
    onIdentified(names) {
      dialects.learnNames(names)
      const withoutTopic = idText(names.idWithoutTopic)
      const { promises } = target.gossipTracer
      for (const peerId of promises.get(idText(names.id))?.keys() ?? []) dialects.setDialect(peerId, 'with-topic')
      for (const peerId of promises.get(withoutTopic)?.keys() ?? []) dialects.setDialect(peerId, 'without-topic')
      target.gossipTracer.deliverMessage(withoutTopic)
    },
    onValid(names) {
      dialects.learnMessage(names)
      for (const [peerId, ids] of target.idontwants) {
        const heartbeat = ids.get(idText(names.idWithoutTopic))
        if (heartbeat === undefined) continue
        ids.set(idText(names.id), heartbeat)
        dialects.setDialect(peerId, 'without-topic')
      }
    },
    hear(peerId, { ihave, idontwant }) {
      learnFrom(peerId, ihave)
      learnFrom(peerId, idontwant)
    },
    pushGossip: (pushGossip) => (peerId, ihave) => pushGossip(peerId, translated(peerId, ihave)),
    sendRpcInBatch: (sendRpcInBatch) => (peers, rpc) => {
      const idontwant = rpc.control?.idontwant ?? []
      const others = new Set(
        idontwant.length === 0 ? [] : [...peers].filter((peerId) => dialects.dialectOf(peerId) === 'without-topic'),
      )
      const [first] = others
      if (first === undefined) return sendRpcInBatch(peers, rpc)
      sendRpcInBatch(new Set([...peers].filter((peerId) => !others.has(peerId))), rpc)
      const control = { ...rpc.control, idontwant: idontwant.map((list) => translated(first, list)) }
      sendRpcInBatch(others, { ...rpc, control })
    },
  }
}
