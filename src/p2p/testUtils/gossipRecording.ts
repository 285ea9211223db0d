import { readFileSync } from 'node:fs'
import type { Hex } from '../../lib/hex.ts'

export interface RecordedMessage {
  topic: string
  compressed: Uint8Array
  receivedAtMs: number
  id: Uint8Array
}

export interface GossipRecording {
  chainId: bigint
  signer: Hex
  messages: RecordedMessage[]
}

/** Raw gossip messages of a real op-node, from test/vectors/data. */
export function loadGossipRecording(name: 'regolith' | 'canyon' | 'holocene'): GossipRecording {
  const url = new URL(`../../../test/vectors/data/gossip-op-node-${name}.json`, import.meta.url)
  const json: {
    chainId: number
    signer: Hex
    messages: { topic: string; data: string; receivedAtMs: number; msgId: string }[]
  } = JSON.parse(readFileSync(url, 'utf8'))
  return {
    chainId: BigInt(json.chainId),
    signer: json.signer,
    messages: json.messages.map((message) => ({
      topic: message.topic,
      compressed: new Uint8Array(Buffer.from(message.data, 'hex')),
      receivedAtMs: message.receivedAtMs,
      // Recorded as the hex of a base64 text.
      id: new Uint8Array(Buffer.from(Buffer.from(message.msgId, 'hex').toString('latin1'), 'base64')),
    })),
  }
}
