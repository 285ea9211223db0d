import { createHash, hash } from 'node:crypto'
import { bytesToText, viewOf } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { declaredBytesOf, uncompressDeclared } from '../base/snappyBlock.ts'
import type { Inspection } from './inspection.ts'
import { MAX_GOSSIP_BYTES } from './largeMessages.ts'

export type UnpackFault = { ok: false; reason: 'snappy-length' | 'too-large' | 'snappy-damaged' }
export type UnpackedHere = { ok: true; data: Uint8Array } | UnpackFault

/**
 * The result of decompressing a gossip message. The fault reasons are those of the first validation step. A large
 * message stays in the other process, which sends its inspection.
 */
export type Unpacked = UnpackedHere | { ok: true; data?: undefined; inspection: Promise<Inspection> }

/** Decompresses a message. The validator checks its minimum length. */
export function unpackMessage(compressed: Uint8Array, declaredBytes = declaredBytesOf(compressed)): UnpackedHere {
  if (declaredBytes === undefined) return { ok: false, reason: 'snappy-length' }
  if (declaredBytes > MAX_GOSSIP_BYTES) return { ok: false, reason: 'too-large' }
  try {
    return { ok: true, data: uncompressDeclared(compressed, declaredBytes) }
  } catch (error) {
    if (error instanceof DecodeError) return { ok: false, reason: 'snappy-damaged' }
    throw error
  }
}

const VALID_SNAPPY = Uint8Array.of(1, 0, 0, 0)
const INVALID_SNAPPY = Uint8Array.of(0, 0, 0, 0)
const ID_BYTES = 20

/**
 * The first 20 bytes of SHA-256(domain ‖ topic length u64 LE ‖ topic ‖ data), as computed by op-node, kona since 1.6.3
 * and Base's node since 2026-04. The specs' text (rollup-node-p2p, "Message ID computation") omits the topic.
 */
export function messageId(topic: string, compressed: Uint8Array, unpacked: UnpackedHere): Uint8Array {
  const data = unpacked.ok ? unpacked.data : compressed
  const domain = unpacked.ok ? VALID_SNAPPY : INVALID_SNAPPY
  const digest = sha256OfThree(domain, topicHead(topic), data)
  const id = new Uint8Array(ID_BYTES)
  for (let index = 0; index < ID_BYTES; index++) id[index] = digest.charCodeAt(index)
  return id
}

/** Up to this length it is faster to join the parts than to pass them one by one. */
const SHORT_BYTES = 8_192
const scratch = new Uint8Array(SHORT_BYTES)

/**
 * The digest as text with one character a byte. Allocating a buffer for it takes longer than hashing a short message.
 */
function sha256OfThree(first: Uint8Array, second: Uint8Array, third: Uint8Array): string {
  const length = first.length + second.length + third.length
  if (length > SHORT_BYTES) return createHash('sha256').update(first).update(second).update(third).digest('binary')
  scratch.set(first)
  scratch.set(second, first.length)
  scratch.set(third, first.length + second.length)
  return hash('sha256', scratch.subarray(0, length), 'binary')
}

/** The topic's length as u64 LE, then the topic. */
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

/** There are four topics. The limit keeps topics of unauthenticated peers from filling the map. */
const topicHeads = new LruMap<string, Uint8Array>(16)

export interface IdentifiedMessage {
  id: Uint8Array
  unpacked: Unpacked
}

/** An id as text, in gossipsub's internal form. */
export const idText = (id: Uint8Array): string => bytesToText(id, 'latin1')
