import { describe, expect, it } from 'vitest'
import { toHex } from '../../lib/hex.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import { loadGossipRecording } from '../testUtils/gossipRecording.ts'
import { messageId, unpackMessage } from './messageId.ts'

const TOPIC = '/optimism/10/2/blocks'

function idOf(topic: string, compressed: Uint8Array): string {
  return toHex(messageId(topic, compressed, unpackMessage(compressed)))
}

describe('messageId', () => {
  it('hashes the raw bytes of an invalid message', () => {
    expect(idOf(TOPIC, Uint8Array.of(1, 2, 3, 4, 5))).toBe('0x9b99034febd981031966fc50729faf85d0ab4191')
  })
  it.each(['regolith', 'canyon', 'holocene'] as const)('computes the ids that op-node computed on %s', (name) => {
    const { messages } = loadGossipRecording(name)
    expect(messages.length).toBeGreaterThan(0)
    for (const message of messages) expect(idOf(message.topic, message.compressed)).toBe(toHex(message.id))
  })
  it('returns different ids for different topics', () => {
    const compressed = compressSnappy(Buffer.from('hello'))
    const unpacked = unpackMessage(compressed)
    const other = '/optimism/10/1/blocks'
    expect(messageId(TOPIC, compressed, unpacked)).not.toEqual(messageId(other, compressed, unpacked))
  })
})

describe('unpackMessage', () => {
  it.each([
    ['nothing', [], 'snappy-length'],
    ['an endless length', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 'snappy-length'],
    ['more than 32 bits', [0xff, 0xff, 0xff, 0xff, 0x7f], 'snappy-length'],
    ['one byte above 10 MiB', [0x81, 0x80, 0x80, 0x05, 0, 0], 'too-large'],
    ['10 MiB declared by five bytes', [0x80, 0x80, 0x80, 0x05, 0], 'snappy-damaged'],
    ['a truncated literal', [0x05, 0x10, 1, 2], 'snappy-damaged'],
  ])('refuses %s', (_id, bytes, reason) => {
    expect(unpackMessage(Uint8Array.from(bytes))).toEqual({ ok: false, reason })
  })
})
