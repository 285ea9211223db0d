import { createHash } from 'node:crypto'
import { bytesToText, concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
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
  const digest = createHash('sha256')
    .update(unpacked.ok ? VALID_SNAPPY : INVALID_SNAPPY)
    .update(topicHead(topic))
    .update(unpacked.ok ? unpacked.data : compressed)
    .digest()
  return new Uint8Array(digest.subarray(0, ID_BYTES))
}

/** The topic's length as u64 LE, then the topic. */
function topicHead(topic: string): Uint8Array {
  const text = Buffer.from(topic, 'utf8')
  const head = Buffer.alloc(8)
  head.writeUInt32LE(text.length)
  return concatBytes(head, text)
}

export interface IdentifiedMessage {
  id: Uint8Array
  unpacked: Unpacked
}

/** An id as text, in gossipsub's internal form. */
export const idText = (id: Uint8Array): string => bytesToText(id, 'latin1')
