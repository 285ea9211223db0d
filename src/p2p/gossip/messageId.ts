import { createHash } from 'node:crypto'
import { DecodeError } from '../../lib/errors.ts'
import { snappyDeclaredLength, uncompressSnappy, uncompressSnappyOffThread } from '../snappyBlock.ts'
import { LARGE_BYTES, sha256OffThread } from './largeMessages.ts'
import { MAX_GOSSIP_BYTES } from './params.ts'

/** What unpacking a gossip message gave; the reasons are those of the validation's first step. */
export type Unpacked =
  | { ok: true; data: Uint8Array }
  | { ok: false; reason: 'snappy-length' | 'too-large' | 'snappy-damaged' }

/** Decompresses a message once; whether it is long enough to be a block is the validator's business. */
export function unpackMessage(compressed: Uint8Array): Unpacked {
  const fault = declaredFault(compressed)
  if (fault !== undefined) return fault
  try {
    return { ok: true, data: uncompressSnappy(compressed, MAX_GOSSIP_BYTES) }
  } catch (error) {
    return unpackFault(error)
  }
}

async function unpackOffThread(compressed: Uint8Array): Promise<Unpacked> {
  const fault = declaredFault(compressed)
  if (fault !== undefined) return fault
  try {
    return { ok: true, data: await uncompressSnappyOffThread(compressed, MAX_GOSSIP_BYTES) }
  } catch (error) {
    return unpackFault(error)
  }
}

function declaredFault(compressed: Uint8Array): Unpacked | undefined {
  try {
    if (snappyDeclaredLength(compressed) > MAX_GOSSIP_BYTES) return { ok: false, reason: 'too-large' }
    return undefined
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, reason: 'snappy-length' }
    throw error
  }
}

function unpackFault(error: unknown): Unpacked {
  if (error instanceof DecodeError) return { ok: false, reason: 'snappy-damaged' }
  throw error
}

const VALID_SNAPPY = Uint8Array.of(1, 0, 0, 0)
const INVALID_SNAPPY = Uint8Array.of(0, 0, 0, 0)
const ID_BYTES = 20

/** op-node hashes the topic too; the specs' text and kona leave it out. Ids of the two never meet. */
export type IdDialect = 'with-topic' | 'without-topic'

/** First 20 bytes of SHA-256 of domain ‖ (topic length u64 LE ‖ topic) ‖ data (specs: rollup-node-p2p, "Message ID computation"). */
export function messageId(
  topic: string,
  compressed: Uint8Array,
  unpacked: Unpacked,
  dialect: IdDialect = 'with-topic',
): Uint8Array {
  const hash = createHash('sha256')
  for (const part of idParts(topic, compressed, unpacked, dialect)) hash.update(part)
  return new Uint8Array(hash.digest()).subarray(0, ID_BYTES)
}

function idParts(topic: string, compressed: Uint8Array, unpacked: Unpacked, dialect: IdDialect): Uint8Array[] {
  const parts: Uint8Array[] = [unpacked.ok ? VALID_SNAPPY : INVALID_SNAPPY]
  if (dialect === 'with-topic') {
    const topicBytes = Buffer.from(topic, 'utf8')
    const length = Buffer.alloc(8)
    length.writeUInt32LE(topicBytes.length)
    parts.push(length, topicBytes)
  }
  parts.push(unpacked.ok ? unpacked.data : compressed)
  return parts
}

export interface IdentifiedMessage {
  id: Uint8Array
  /** What peers call it that leave the topic out. */
  idWithoutTopic: Uint8Array
  unpacked: Unpacked
}

/** Both ids of a message that is at hand. */
export function identifyMessage(topic: string, compressed: Uint8Array, unpacked: Unpacked): IdentifiedMessage {
  return {
    id: messageId(topic, compressed, unpacked),
    idWithoutTopic: messageId(topic, compressed, unpacked, 'without-topic'),
    unpacked,
  }
}

/**
 * Each peer of the mesh sends its own copy, and the id takes unpacking and hashing all of it: copies of the last few
 * messages are recognised by comparing bytes, which is exact. Large messages are unpacked and hashed off the main
 * thread, a few at a time.
 */
export interface MessageIds {
  /** Throws, or rejects, when too many large messages wait already. */
  idOf(topic: string, compressed: Uint8Array): IdentifiedMessage | Promise<IdentifiedMessage>
}

/** Together they may hold this many bytes of unpacked messages back from the garbage collector. */
const RECENT_BYTES = 2 * MAX_GOSSIP_BYTES
const RECENT_MESSAGES = 8
/** Large messages worked on at once (op-node's validators: 4), and waiting. */
const LARGE_AT_ONCE = 4
const LARGE_WAITING = 32

export function createMessageIds(): MessageIds {
  const recent = createRecentMessages()
  let active = 0
  const waiting: (() => void)[] = []

  const inTurn = async <T>(work: () => Promise<T>): Promise<T> => {
    if (active >= LARGE_AT_ONCE) {
      if (waiting.length >= LARGE_WAITING) throw new Error('too many large gossip messages at once')
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else {
      active += 1
    }
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) active -= 1
      else next()
    }
  }
  const identifyLarge = async (topic: string, compressed: Uint8Array): Promise<IdentifiedMessage> => {
    const unpacked = await unpackOffThread(compressed)
    const [id, idWithoutTopic] = await Promise.all([
      sha256OffThread(idParts(topic, compressed, unpacked, 'with-topic')),
      sha256OffThread(idParts(topic, compressed, unpacked, 'without-topic')),
    ])
    return { id: id.subarray(0, ID_BYTES), idWithoutTopic: idWithoutTopic.subarray(0, ID_BYTES), unpacked }
  }
  return {
    idOf(topic, compressed) {
      const known = recent.find(topic, compressed)
      if (known !== undefined) return known
      if (isLarge(compressed)) {
        const identified = inTurn(() => identifyLarge(topic, compressed))
        return recent.add(topic, compressed, identified)
      }
      return recent.add(topic, compressed, identifyMessage(topic, compressed, unpackMessage(compressed)))
    },
  }
}

/** By what it is, or says to be once unpacked. */
function isLarge(compressed: Uint8Array): boolean {
  if (compressed.length > LARGE_BYTES) return true
  try {
    const declared = snappyDeclaredLength(compressed)
    return declared > LARGE_BYTES && declared <= MAX_GOSSIP_BYTES
  } catch {
    return false
  }
}

type Identification = IdentifiedMessage | Promise<IdentifiedMessage>

interface RecentMessages {
  find(topic: string, compressed: Uint8Array): Identification | undefined
  add<T extends Identification>(topic: string, compressed: Uint8Array, identified: T): T
}

function createRecentMessages(): RecentMessages {
  /** Newest first. */
  const entries: { topic: string; compressed: Uint8Array; bytes: number; identified: Identification }[] = []
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
      const found = entries.find(
        (entry) =>
          entry.compressed.length === compressed.length &&
          entry.topic === topic &&
          Buffer.compare(entry.compressed, compressed) === 0,
      )
      return found?.identified
    },
    add(topic, compressed, identified) {
      const bytes = compressed.length + declaredBytes(compressed)
      const entry = { topic, compressed, bytes, identified: identified as Identification }
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
