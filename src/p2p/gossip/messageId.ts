import { createHash, hash } from 'node:crypto'
import { EMPTY_BYTES, viewOf } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { snappyDeclaredLength, uncompressSnappy } from '../snappyBlock.ts'
import { bodyOf, type Inspection, type Question } from './inspection.ts'
import type { InspectionProcess } from './inspectionProcess.ts'
import { hasManyTransactions, isLarge } from './largeMessages.ts'
import { MAX_GOSSIP_BYTES } from './params.ts'

export type UnpackFault = { ok: false; reason: 'snappy-length' | 'too-large' | 'snappy-damaged' }
export type UnpackedHere = { ok: true; data: Uint8Array } | UnpackFault

/**
 * What unpacking a gossip message gave; the reasons are those of the validation's first step. A large message is not at
 * hand but in another process, from where its inspection comes.
 */
export type Unpacked = UnpackedHere | { ok: true; data?: undefined; inspection: Promise<Inspection> }

/** Decompresses a message once; whether it is long enough to be a block is the validator's business. */
export function unpackMessage(compressed: Uint8Array): UnpackedHere {
  const fault = declaredFault(compressed)
  if (fault !== undefined) return fault
  try {
    return { ok: true, data: uncompressSnappy(compressed, MAX_GOSSIP_BYTES) }
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, reason: 'snappy-damaged' }
    throw error
  }
}

function declaredFault(compressed: Uint8Array): UnpackFault | undefined {
  try {
    if (snappyDeclaredLength(compressed) > MAX_GOSSIP_BYTES) return { ok: false, reason: 'too-large' }
    return undefined
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, reason: 'snappy-length' }
    throw error
  }
}

const VALID_SNAPPY = Uint8Array.of(1, 0, 0, 0)
const INVALID_SNAPPY = Uint8Array.of(0, 0, 0, 0)
const ID_BYTES = 20

/** op-node hashes the topic too; the specs' text and kona leave it out. Ids of the two never meet. */
export type IdDialect = 'with-topic' | 'without-topic'

/**
 * First 20 bytes of SHA-256 of domain ‖ (topic length u64 LE ‖ topic) ‖ data (specs: rollup-node-p2p, "Message ID
 * computation").
 */
export function messageId(
  topic: string,
  compressed: Uint8Array,
  unpacked: UnpackedHere,
  dialect: IdDialect = 'with-topic',
): Uint8Array {
  const data = unpacked.ok ? unpacked.data : compressed
  const domain = unpacked.ok ? VALID_SNAPPY : INVALID_SNAPPY
  const head = dialect === 'with-topic' ? topicHead(topic) : EMPTY_BYTES
  return new Uint8Array(sha256OfThree(domain, head, data)).subarray(0, ID_BYTES)
}

/** Up to this length it takes less time to put the parts together than to hand them over one by one. */
const SHORT_BYTES = 8_192
const scratch = new Uint8Array(SHORT_BYTES)

function sha256OfThree(first: Uint8Array, second: Uint8Array, third: Uint8Array): Uint8Array {
  const length = first.length + second.length + third.length
  if (length > SHORT_BYTES) return createHash('sha256').update(first).update(second).update(third).digest()
  scratch.set(first)
  scratch.set(second, first.length)
  scratch.set(third, first.length + second.length)
  return hash('sha256', scratch.subarray(0, length), 'buffer')
}

/** The length as u64 LE, and the topic. */
function topicHead(topic: string): Uint8Array {
  const known = topicHeads.get(topic)
  if (known !== undefined) return known
  const text = Buffer.from(topic, 'utf8')
  const head = new Uint8Array(8 + text.length)
  viewOf(head).setUint32(0, text.length, true)
  head.set(text, 8)
  topicHeads.set(topic, head)
  return head
}

/** There are four; whatever strangers send is not remembered for long. */
const topicHeads = new LruMap<string, Uint8Array>(16)

export interface IdentifiedMessage {
  id: Uint8Array
  /** What peers call it that leave the topic out; undefined when it was not asked for. */
  idWithoutTopic: Uint8Array | undefined
  unpacked: Unpacked
}

/** Names a message that is at hand, by both ids unless one is enough. */
export function identifyMessage(
  topic: string,
  compressed: Uint8Array,
  unpacked: UnpackedHere,
  both = true,
): IdentifiedMessage & { unpacked: UnpackedHere } {
  return {
    id: messageId(topic, compressed, unpacked),
    idWithoutTopic: both ? messageId(topic, compressed, unpacked, 'without-topic') : undefined,
    unpacked,
  }
}

/**
 * Each peer of the mesh sends its own copy, and the id takes unpacking and hashing all of it: copies of the last few
 * messages are recognised by comparing bytes, which is exact. Large messages are worked on by another process.
 */
export interface MessageIds {
  /** Throws, or rejects with InspectionFailure, when there will be no id. */
  idOf(topic: string, compressed: Uint8Array, options?: IdOptions): IdentifiedMessage | Promise<IdentifiedMessage>
}

export interface IdOptions {
  /** The peer that sent it. */
  from?: string | undefined
  /** Whether the id without topic is wanted; by default it is. It comes with very large messages in any case. */
  both?: boolean
}

/** Together they may hold this many bytes of unpacked messages back from the garbage collector. */
const RECENT_BYTES = 2 * MAX_GOSSIP_BYTES
const RECENT_MESSAGES = 8
/** Above, a message gets both ids at once: if the second were wanted later, unpacking it here would hold the event loop. */
const MAX_LATE_BYTES = 2 * 1024 * 1024

export interface MessageIdsModules {
  inspector: Pick<InspectionProcess, 'identify'>
  /** What to ask of a message on this topic that comes now. */
  question(topic: string): Question
}

export function createMessageIds({ inspector, question }: MessageIdsModules): MessageIds {
  const recent = createRecentMessages()
  const isLaborious = (topic: string, unpacked: UnpackedHere): boolean =>
    unpacked.ok &&
    unpacked.data.length > SHORT_BYTES &&
    hasManyTransactions(bodyOf(unpacked.data), question(topic).version)
  return {
    idOf(topic, compressed, { from = '', both = true } = {}) {
      const known = recent.find(topic, compressed)
      if (known !== undefined && (!both || complete(known))) return known.identified
      const unpacked = isLarge(compressed) ? undefined : unpackMessage(compressed)
      if (unpacked === undefined || isLaborious(topic, unpacked)) {
        const isBoth = both || declaredBytes(compressed) > MAX_LATE_BYTES
        const large = { topic, compressed, from, question: question(topic), both: isBoth }
        return recent.add(large, inspector.identify(large))
      }
      return recent.add({ topic, compressed, both }, identifyMessage(topic, compressed, unpacked, both))
    },
  }
}

/** Adds the second id to a message that was named by one. False for a large one, which is not at hand. */
function complete(known: RecentMessage): boolean {
  if (known.both) return true
  const { topic, compressed, identified } = known
  if (identified instanceof Promise) return false
  const { unpacked } = identified
  if (unpacked.ok && unpacked.data === undefined) return false
  identified.idWithoutTopic = messageId(topic, compressed, unpacked, 'without-topic')
  known.both = true
  return true
}

type Identification = IdentifiedMessage | Promise<IdentifiedMessage>

interface NamedMessage {
  topic: string
  compressed: Uint8Array
  /** Whether it has its second id too, or will. */
  both: boolean
}

interface RecentMessage extends NamedMessage {
  bytes: number
  identified: Identification
}

interface RecentMessages {
  /** The latest, if it was added twice. */
  find(topic: string, compressed: Uint8Array): RecentMessage | undefined
  add<T extends Identification>(message: NamedMessage, identified: T): T
}

function createRecentMessages(): RecentMessages {
  /** Newest first. */
  const entries: RecentMessage[] = []
  const shrink = (): void => {
    let total = 0
    const cut = entries.findIndex((entry, index) => {
      total += entry.bytes
      return index > 0 && (index >= RECENT_MESSAGES || total > RECENT_BYTES)
    })
    if (cut > 0) entries.length = cut
  }
  return {
    find(topic, compressed) {
      return entries.find(
        (entry) =>
          entry.compressed.length === compressed.length &&
          entry.topic === topic &&
          Buffer.compare(entry.compressed, compressed) === 0,
      )
    },
    add({ topic, compressed, both }, identified) {
      const bytes = compressed.length + declaredBytes(compressed)
      const entry: RecentMessage = { topic, compressed, both, bytes, identified }
      entries.unshift(entry)
      shrink()
      if (identified instanceof Promise) {
        identified.then(
          (result) => {
            entry.identified = result
          },
          () => {
            const index = entries.indexOf(entry)
            if (index >= 0) entries.splice(index, 1)
          },
        )
      }
      return identified
    },
  }
}

function declaredBytes(compressed: Uint8Array): number {
  try {
    return Math.min(snappyDeclaredLength(compressed), MAX_GOSSIP_BYTES)
  } catch {
    return 0
  }
}
