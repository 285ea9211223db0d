import { declaredBytesOf } from '../base/snappyBlock.ts'
import type { PayloadVersion } from '../base/topics.ts'
import { LARGE_BYTES, MAX_GOSSIP_BYTES } from '../inspection/largeMessages.ts'

/** A gossip message on its way from the stream to its verdict. */
export interface InboundMessage {
  /** The peer that sent it. */
  readonly from: string
  readonly topic: string
  readonly version: PayloadVersion
  /** Compressed. */
  readonly data: Uint8Array
  /** Bytes that it unpacks to, by its own word; undefined when that cannot be read. */
  readonly declaredBytes: number | undefined
}

export function inboundMessage(parts: Omit<InboundMessage, 'declaredBytes'>): InboundMessage {
  return { ...parts, declaredBytes: declaredBytesOf(parts.data) }
}

/** Bytes that it may take unpacked: no more than is allowed. */
export function allowedBytes({ declaredBytes = 0 }: Pick<InboundMessage, 'declaredBytes'>): number {
  return Math.min(declaredBytes, MAX_GOSSIP_BYTES)
}

/** By what it is, or says to be once unpacked. One that says to be more than allowed is refused without unpacking. */
export function isLarge({ data, declaredBytes }: Pick<InboundMessage, 'data' | 'declaredBytes'>): boolean {
  if (data.length > LARGE_BYTES) return true
  return declaredBytes !== undefined && declaredBytes > LARGE_BYTES && declaredBytes <= MAX_GOSSIP_BYTES
}
