import { peerIdFromString } from '@libp2p/peer-id'
import { describe, expect, it } from 'vitest'
import { compressSnappy } from '../snappyBlock.ts'
import { noteSenders } from './senders.ts'

describe('noteSenders', () => {
  it('knows who sent a large message, by its bytes, while the library has it', async () => {
    const from = peerIdFromString('16Uiu2HAmQtLoyaBUxgcXhCzBvRKj6WS7iCDM9hUZMFyCnxQcHy2p')
    const seen: (string | undefined)[] = []
    const target = {
      async handleReceivedMessage(_from: typeof from, { data }: { data?: Uint8Array }) {
        if (data !== undefined) seen.push(senderOf(data))
      },
    }
    const senderOf = noteSenders(target)
    const large = compressSnappy(new Uint8Array(1_000_000))
    for (const message of [{ data: large }, { data: compressSnappy(new Uint8Array(100)) }, {}]) {
      await target.handleReceivedMessage(from, message)
    }
    expect(seen).toEqual([from.toString(), undefined])
    expect(senderOf(Uint8Array.from(large))).toBeUndefined()
  })
})
