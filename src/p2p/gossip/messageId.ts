import { createHash } from 'node:crypto'
import { DecodeError } from '../../lib/errors.ts'
import { snappyDeclaredLength, uncompressSnappy } from '../snappyBlock.ts'
import { MAX_GOSSIP_BYTES } from './params.ts'

/** What unpacking a gossip message gave; the reasons are those of the validation's first step. */
export type Unpacked =
  | { ok: true; data: Uint8Array }
  | { ok: false; reason: 'snappy-length' | 'too-large' | 'snappy-damaged' }

/** Decompresses a message once; whether it is long enough to be a block is the validator's business. */
export function unpackMessage(compressed: Uint8Array): Unpacked {
  let length: number
  try {
    length = snappyDeclaredLength(compressed)
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, reason: 'snappy-length' }
    throw error
  }
  if (length > MAX_GOSSIP_BYTES) return { ok: false, reason: 'too-large' }
  try {
    return { ok: true, data: uncompressSnappy(compressed, MAX_GOSSIP_BYTES) }
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, reason: 'snappy-damaged' }
    throw error
  }
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
  const hash = createHash('sha256').update(unpacked.ok ? VALID_SNAPPY : INVALID_SNAPPY)
  if (dialect === 'with-topic') {
    const topicBytes = Buffer.from(topic, 'utf8')
    const length = Buffer.alloc(8)
    length.writeUInt32LE(topicBytes.length)
    hash.update(length).update(topicBytes)
  }
  return hash
    .update(unpacked.ok ? unpacked.data : compressed)
    .digest()
    .subarray(0, ID_BYTES)
}

/**
 * Each peer of the mesh sends its own copy, and the id takes unpacking and hashing all of it: copies of the last few
 * messages are recognised by comparing bytes, which is exact.
 */
export interface MessageIds {
  idOf(topic: string, compressed: Uint8Array): { id: Uint8Array; unpacked: Unpacked }
}

export function createMessageIds(capacity = 8): MessageIds {
  const recent: { topic: string; compressed: Uint8Array; id: Uint8Array; unpacked: Unpacked }[] = []
  return {
    idOf(topic, compressed) {
      for (const entry of recent) {
        if (entry.compressed.length !== compressed.length || entry.topic !== topic) continue
        if (Buffer.compare(entry.compressed, compressed) === 0) return entry
      }
      const unpacked = unpackMessage(compressed)
      const entry = { topic, compressed, id: messageId(topic, compressed, unpacked), unpacked }
      recent.unshift(entry)
      if (recent.length > capacity) recent.pop()
      return entry
    },
  }
}
