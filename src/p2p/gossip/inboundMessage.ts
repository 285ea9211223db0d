import { declaredBytesOf } from '../base/snappyBlock.ts'
import type { PayloadVersion } from '../base/topics.ts'
import { LARGE_BYTES, MAX_GOSSIP_BYTES } from '../inspection/largeMessages.ts'

/** A gossip message between the stream and its verdict. */
export interface InboundMessage {
  readonly from: string
  readonly topic: string
  readonly version: PayloadVersion
  /** Compressed. */
  readonly data: Uint8Array
  /** The uncompressed size that the message declares; undefined when it cannot be read. */
  readonly declaredBytes: number | undefined
}

export function inboundMessage(parts: Omit<InboundMessage, 'declaredBytes'>): InboundMessage {
  return { ...parts, declaredBytes: declaredBytesOf(parts.data) }
}

/** The uncompressed size to reserve: the declared size, up to the limit. */
export function allowedBytes({ declaredBytes = 0 }: Pick<InboundMessage, 'declaredBytes'>): number {
  return Math.min(declaredBytes, MAX_GOSSIP_BYTES)
}

/**
 * By its compressed or declared size. A message that declares more than the limit is refused without decompression, so
 * it is not large.
 */
export function isLarge({ data, declaredBytes }: Pick<InboundMessage, 'data' | 'declaredBytes'>): boolean {
  if (data.length > LARGE_BYTES) return true
  return declaredBytes !== undefined && declaredBytes > LARGE_BYTES && declaredBytes <= MAX_GOSSIP_BYTES
}
