import { beforeEach, describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { compressSnappy } from '../base/snappyBlock.ts'
import type { ValidationContext } from '../inspection/inspection.ts'
import { InspectionFailure, type LargeMessage } from '../inspection/inspectionProcess.ts'
import { LARGE_BYTES, MANY_TRANSACTIONS } from '../inspection/largeMessages.ts'
import type { IdentifiedMessage } from '../inspection/messageId.ts'
import { gossipMessage } from '../testUtils/signedMessage.ts'
import { testBlock, testConfig } from '../testUtils/testChain.ts'
import { inboundMessage } from './inboundMessage.ts'
import { createMessageIds } from './knownMessages.ts'

const TOPIC = '/optimism/10/2/blocks'

describe('createMessageIds', () => {
  const inspected: LargeMessage[] = []
  const context: ValidationContext = { version: 3, chainId: 10n, signers: [], earliest: 0, latest: 0 }
  const setUp = (identify: (message: LargeMessage) => Promise<IdentifiedMessage> = neverMind) =>
    createMessageIds({
      inspector: {
        identify(message) {
          inspected.push(message)
          return identify(message)
        },
      },
      context: () => context,
    })
  const sent = (data: Uint8Array, { from = '', topic = TOPIC } = {}) =>
    inboundMessage({ from, topic, version: 3, data })
  const neverMind = () => new Promise<never>(() => {})
  beforeEach(() => {
    inspected.length = 0
  })

  it('recognises copies of recent messages by their bytes and topic', async () => {
    const ids = setUp()
    const one = compressSnappy(Buffer.from('one'))
    const first = await ids.identify(sent(one))
    expect(await ids.identify(sent(Uint8Array.from(one)))).toBe(first)
    expect((await ids.identify(sent(one, { topic: '/optimism/10/1/blocks' }))).id).not.toEqual(first.id)
    const twin = Uint8Array.from(one)
    twin[twin.length - 1] = (twin[twin.length - 1] ?? 0) ^ 1
    expect((await ids.identify(sent(twin))).id).not.toEqual(first.id)
    expect((await ids.identify(sent(one))).id).toEqual(first.id)
  })

  const large = () => compressSnappy(new Uint8Array(LARGE_BYTES + 1))

  it('passes only messages with a large uncompressed size to the inspection process', () => {
    const ids = setUp()
    expect(ids.identify(sent(compressSnappy(new Uint8Array(LARGE_BYTES))))).not.toBeInstanceOf(Promise)
    // One byte above the limit: refused by its header.
    expect(ids.identify(sent(Uint8Array.of(0x81, 0x80, 0x80, 0x05, 0, 0)))).toMatchObject({
      unpacked: { ok: false },
    })
    expect(inspected).toEqual([])
    const compressed = large()
    expect(ids.identify(sent(compressed, { from: 'alice' }))).toBeInstanceOf(Promise)
    expect(inspected).toEqual([{ topic: TOPIC, compressed, from: 'alice', context }])
    const noise = new Uint8Array(LARGE_BYTES + 1)
    expect(ids.identify(sent(noise))).toBeInstanceOf(Promise)
    expect(inspected).toHaveLength(2)
  })

  it('passes messages with many transactions to the inspection process, however short they are', () => {
    const ids = setUp()
    const messageOf = (count: number): Uint8Array =>
      gossipMessage(testBlock(testConfig(), { transactions: new Array(count).fill(Uint8Array.of(1)) }))
    expect(ids.identify(sent(messageOf(MANY_TRANSACTIONS)))).not.toBeInstanceOf(Promise)
    expect(ids.identify(sent(messageOf(MANY_TRANSACTIONS + 1)))).toBeInstanceOf(Promise)
  })

  it('inspects a large message and its copies once', async () => {
    const identified: IdentifiedMessage = {
      id: new Uint8Array(20),
      unpacked: { ok: false, reason: 'snappy-damaged' },
    }
    const ids = setUp(async () => identified)
    const first = ids.identify(sent(large(), { from: 'alice' }))
    expect(ids.identify(sent(large(), { from: 'bob' }))).toBe(first)
    expect(await first).toBe(identified)
    expect(ids.identify(sent(large(), { from: 'carol' }))).toBe(identified)
    expect(inspected).toHaveLength(1)
  })

  it('remembers the last eight messages', async () => {
    const ids = setUp()
    const identify = (n: number) => ids.identify(sent(compressSnappy(Buffer.from(`message ${n}`))))
    const first = await identify(0)
    for (let n = 1; n < 8; n++) await identify(n)
    expect(await identify(0)).toBe(first)
    await identify(8)
    expect(await identify(0)).not.toBe(first)
  })

  it('remembers messages of 20 MiB, and always the last one', () => {
    const ids = setUp()
    const [a, b, c] = [1, 2, 3].map((seed) => compressSnappy(new Uint8Array(9_000_000).fill(seed)))
    if (a === undefined || b === undefined || c === undefined) throw new Error('no messages')
    for (const data of [a, b, a, b]) ids.identify(sent(data))
    expect(inspected).toHaveLength(2)
    for (const data of [c, b, c]) ids.identify(sent(data))
    expect(inspected).toHaveLength(3)
    ids.identify(sent(a))
    expect(inspected).toHaveLength(4)
  })

  it('inspects a copy again after the inspection of a large message failed', async () => {
    const ids = setUp(() => Promise.reject(new InspectionFailure('overloaded', 'too many')))
    await expect(ids.identify(sent(large()))).rejects.toThrow(errorWith('inspection-overloaded'))
    await expect(ids.identify(sent(large()))).rejects.toThrow(errorWith('inspection-overloaded'))
    expect(inspected).toHaveLength(2)
  })
})
