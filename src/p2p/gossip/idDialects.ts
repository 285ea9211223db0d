import { bytesToText } from '../../lib/bytes.ts'
import { LruMap } from '../../lib/lruMap.ts'
import type { IdDialect, MessageNames } from '../inspection/messageId.ts'
import { GOSSIP_PARAMS } from './params.ts'

/** An id as text, as the library keeps it. */
export const idText = (id: Uint8Array): string => bytesToText(id, 'latin1')

/** Peers whose form is remembered, connected or not. */
const MAX_PEERS = 2_000
/** Messages of one generation; strangers can make new ones at the price of sending them. */
const MAX_MESSAGES = 8_192

/**
 * Which message has which two ids, and which of them each peer uses. Inside, a message goes by its id with topic: one
 * body has one id without topic on all topics, so that only what was found valid may claim that id. Otherwise a
 * stranger could have a block taken for known by sending it on a wrong topic first.
 */
export type IdDialects = ReturnType<typeof createIdDialects>

export function createIdDialects(now: () => number = Date.now) {
  const peers = new LruMap<string, IdDialect>(MAX_PEERS)
  const insideOf = createGenerations<string>(now)
  const withoutTopicOf = createGenerations<Uint8Array>(now)

  const dialectOf = (peerId: string): IdDialect => peers.get(peerId) ?? 'with-topic'
  const setDialect = (peerId: string, dialect: IdDialect): void => {
    peers.set(peerId, dialect)
  }
  const learnNames = ({ id, idWithoutTopic }: MessageNames): void => {
    withoutTopicOf.set(idText(id), idWithoutTopic)
  }
  return {
    /** As above, of a message not judged yet: only for naming it to others. */
    learnNames,
    /** From now on `nameInside` knows the id without topic, and `nameFor` finds it. */
    learnMessage(names: MessageNames): void {
      learnNames(names)
      insideOf.set(idText(names.idWithoutTopic), idText(names.id))
    },
    /** The id by which the message is known inside; an id that nobody has explained is its own. */
    nameInside(id: Uint8Array): string {
      const text = idText(id)
      return insideOf.get(text) ?? text
    },
    /** The message's id in the peer's form. */
    nameFor(peerId: string, id: Uint8Array): Uint8Array {
      return dialectOf(peerId) === 'with-topic' ? id : (withoutTopicOf.get(idText(id)) ?? id)
    },
    /** op-node's form until the peer has shown another. */
    dialectOf,
    setDialect,
    /** The form that the peer has shown; undefined before. */
    shownBy: (peerId: string): IdDialect | undefined => peers.get(peerId),
    /** Learns from an id that the peer computed itself (IHAVE, IDONTWANT; what it asks for is our own naming). */
    hear(peerId: string, id: Uint8Array): void {
      const text = idText(id)
      if (insideOf.has(text)) setDialect(peerId, 'without-topic')
      else if (withoutTopicOf.has(text)) setDialect(peerId, 'with-topic')
    },
  }
}

/** A map whose entries live at least as long as gossipsub remembers a message, unless it is flooded. */
function createGenerations<V>(now: () => number) {
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  let bornMs = now()
  return {
    get: (key: string): V | undefined => young.get(key) ?? old.get(key),
    has: (key: string): boolean => young.has(key) || old.has(key),
    set(key: string, value: V): void {
      if (young.size >= MAX_MESSAGES || now() - bornMs > GOSSIP_PARAMS.seenTTL) {
        old = young
        young = new Map()
        bornMs = now()
      }
      young.set(key, value)
    },
  }
}
