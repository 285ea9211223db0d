import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { toHex } from '../../lib/hex.ts'
import { compressSnappy } from '../snappyBlock.ts'
import { loadGossipRecording } from '../testUtils/gossipRecording.ts'
import { signedMessage } from '../testUtils/signedMessage.ts'
import { CHAIN_ID, SEQUENCER_KEY, testBlock, testConfig } from '../testUtils/testChain.ts'
import type { Question } from './inspection.ts'
import { InspectionFailure, type LargeMessage } from './inspectionProcess.ts'
import { LARGE_BYTES, MANY_TRANSACTIONS } from './largeMessages.ts'
import { createMessageIds, type IdentifiedMessage, messageId, unpackMessage } from './messageId.ts'

const TOPIC = '/optimism/10/2/blocks'

function idOf(topic: string, compressed: Uint8Array): string {
  return toHex(messageId(topic, compressed, unpackMessage(compressed)))
}

describe('messageId', () => {
  it('hashes the unpacked data of a valid message', () => {
    const compressed = compressSnappy(Buffer.from('hello'))
    expect(idOf(TOPIC, compressed)).toBe('0x0089d50f80a1e1668e93fef3bd0d075261438c71')
  })
  it('hashes the raw bytes of an invalid one', () => {
    expect(idOf(TOPIC, Uint8Array.of(1, 2, 3, 4, 5))).toBe('0x9b99034febd981031966fc50729faf85d0ab4191')
  })
  it.each(['regolith', 'canyon', 'holocene'] as const)('gives the ids that op-node gave on %s', (name) => {
    const { messages } = loadGossipRecording(name)
    expect(messages.length).toBeGreaterThan(0)
    for (const message of messages) expect(idOf(message.topic, message.compressed)).toBe(toHex(message.id))
  })
  it('differs by topic in one dialect and not in the other', () => {
    const compressed = compressSnappy(Buffer.from('hello'))
    const unpacked = unpackMessage(compressed)
    const other = '/optimism/10/1/blocks'
    expect(messageId(TOPIC, compressed, unpacked)).not.toEqual(messageId(other, compressed, unpacked))
    expect(messageId(TOPIC, compressed, unpacked, 'without-topic')).toEqual(
      messageId(other, compressed, unpacked, 'without-topic'),
    )
  })
})

describe('unpackMessage', () => {
  it.each([
    ['nothing', [], 'snappy-length'],
    ['an endless length', [0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 'snappy-length'],
    ['more than 32 bits', [0xff, 0xff, 0xff, 0xff, 0x7f], 'snappy-length'],
    ['one byte above 10 MiB', [0x81, 0x80, 0x80, 0x05, 0, 0], 'too-large'],
    ['10 MiB declared by five bytes', [0x80, 0x80, 0x80, 0x05, 0], 'snappy-damaged'],
    ['a literal cut short', [0x05, 0x10, 1, 2], 'snappy-damaged'],
  ])('refuses %s', (_id, bytes, reason) => {
    expect(unpackMessage(Uint8Array.from(bytes))).toEqual({ ok: false, reason })
  })
  it('does not allocate what a small block declares', () => {
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().external
    for (let i = 0; i < 200; i++) unpackMessage(Uint8Array.of(0x80, 0x80, 0x80, 0x05, i))
    const after = process.memoryUsage().arrayBuffers + process.memoryUsage().external
    expect(after - before).toBeLessThan(10 * 1024 * 1024)
  })
  it('never throws, whatever comes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        expect(typeof unpackMessage(bytes).ok).toBe('boolean')
      }),
      { numRuns: 500 },
    )
  })
  it('undoes compression', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2000 }), (data) => {
        const unpacked = unpackMessage(compressSnappy(data))
        expect(unpacked.ok && Buffer.compare(unpacked.data, data)).toBe(0)
      }),
    )
  })
})

describe('createMessageIds', () => {
  const asked: LargeMessage[] = []
  const question: Question = { version: 3, chainId: 10n, signers: [], earliest: 0, latest: 0 }
  const setUp = (identify: (message: LargeMessage) => Promise<IdentifiedMessage> = neverMind) =>
    createMessageIds({
      inspector: {
        identify(message) {
          asked.push(message)
          return identify(message)
        },
      },
      question: () => question,
    })
  const neverMind = () => new Promise<never>(() => {})
  beforeEach(() => {
    asked.length = 0
  })

  it('recognises copies of recent messages by their bytes and topic', async () => {
    const ids = setUp()
    const one = compressSnappy(Buffer.from('one'))
    const first = await ids.idOf(TOPIC, one)
    expect(await ids.idOf(TOPIC, Uint8Array.from(one))).toBe(first)
    expect((await ids.idOf('/optimism/10/1/blocks', one)).id).not.toEqual(first.id)
    const twin = Uint8Array.from(one)
    twin[twin.length - 1] = (twin[twin.length - 1] ?? 0) ^ 1
    expect((await ids.idOf(TOPIC, twin)).id).not.toEqual(first.id)
    expect((await ids.idOf(TOPIC, one)).id).toEqual(first.id)
  })

  it('names a message by its second id when that is asked for, then or later', async () => {
    const ids = setUp()
    const compressed = compressSnappy(Buffer.from('one'))
    const { id, idWithoutTopic } = await ids.idOf(TOPIC, compressed, { both: false })
    expect(toHex(id)).toBe(idOf(TOPIC, compressed))
    expect(idWithoutTopic).toBeUndefined()
    const expected = messageId(TOPIC, compressed, unpackMessage(compressed), 'without-topic')
    expect(await ids.idOf(TOPIC, Uint8Array.from(compressed))).toMatchObject({ id, idWithoutTopic: expected })
  })

  const large = () => compressSnappy(new Uint8Array(LARGE_BYTES + 1))

  it('leaves what unpacks to much, and only that, to the other process', () => {
    const ids = setUp()
    expect(ids.idOf(TOPIC, compressSnappy(new Uint8Array(LARGE_BYTES)))).not.toBeInstanceOf(Promise)
    // One byte more than is allowed at all: refused by its head.
    expect(ids.idOf(TOPIC, Uint8Array.of(0x81, 0x80, 0x80, 0x05, 0, 0))).toMatchObject({ unpacked: { ok: false } })
    expect(asked).toEqual([])
    const compressed = large()
    expect(ids.idOf(TOPIC, compressed, { from: 'alice' })).toBeInstanceOf(Promise)
    expect(asked).toEqual([{ topic: TOPIC, compressed, from: 'alice', question, both: true }])
    const noise = new Uint8Array(LARGE_BYTES + 1)
    expect(ids.idOf(TOPIC, noise)).toBeInstanceOf(Promise)
    expect(asked).toHaveLength(2)
  })

  it('leaves many transactions to the other process, however short they are', () => {
    const ids = setUp()
    const messageOf = (count: number): Uint8Array => {
      const transactions = new Array(count).fill(Uint8Array.of(1))
      return compressSnappy(signedMessage(testBlock(testConfig(), { transactions }), 3, CHAIN_ID, SEQUENCER_KEY))
    }
    expect(ids.idOf(TOPIC, messageOf(MANY_TRANSACTIONS))).not.toBeInstanceOf(Promise)
    expect(ids.idOf(TOPIC, messageOf(MANY_TRANSACTIONS + 1))).toBeInstanceOf(Promise)
  })

  it('has a copy of a large message share the work', async () => {
    const identified: IdentifiedMessage = {
      id: new Uint8Array(20),
      idWithoutTopic: new Uint8Array(20),
      unpacked: { ok: false, reason: 'snappy-damaged' },
    }
    const ids = setUp(async () => identified)
    const first = ids.idOf(TOPIC, large(), { from: 'alice' })
    expect(ids.idOf(TOPIC, large(), { from: 'bob' })).toBe(first)
    expect(await first).toBe(identified)
    expect(ids.idOf(TOPIC, large(), { from: 'carol' })).toBe(identified)
    expect(asked).toHaveLength(1)
  })

  it('asks anew for a large message whose second id is wanted later, but for very large ones, which get it at once', async () => {
    const ids = setUp(async ({ both }) => ({
      id: new Uint8Array(20),
      idWithoutTopic: both ? new Uint8Array(20).fill(1) : undefined,
      unpacked: { ok: true, inspection: neverMind() },
    }))
    const first = ids.idOf(TOPIC, large(), { both: false })
    expect(ids.idOf(TOPIC, large(), { both: false })).toBe(first)
    const second = ids.idOf(TOPIC, large())
    expect((await first).idWithoutTopic).toBeUndefined()
    expect((await second).idWithoutTopic).toBeDefined()
    const known = await second
    expect(ids.idOf(TOPIC, large())).toBe(known)
    expect(ids.idOf(TOPIC, large(), { both: false })).toBe(known)
    expect(asked.map(({ both }) => both)).toEqual([false, true])
    ids.idOf(TOPIC, compressSnappy(new Uint8Array(2 * 1024 * 1024 + 1)), { both: false })
    expect(asked.at(-1)?.both).toBe(true)
  })

  it('asks anew for a copy of a large message that failed', async () => {
    const ids = setUp(() => Promise.reject(new InspectionFailure('overloaded', 'too many')))
    await expect(ids.idOf(TOPIC, large())).rejects.toThrow('too many')
    await expect(ids.idOf(TOPIC, large())).rejects.toThrow('too many')
    expect(asked).toHaveLength(2)
  })
})
