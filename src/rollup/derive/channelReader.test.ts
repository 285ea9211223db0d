import { describe, expect, it } from 'vitest'
import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import { silentLogger } from '../../lib/logger.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { compressChannel, encodeSingularBatch, encodeSpanBatch } from '../protocol/index.ts'
import type { Fork } from '../protocol/types.ts'
import { ChannelReader } from './channelReader.ts'
import type { DerivationEvent } from './events.ts'
import { fakeHash, GENESIS_TIME, testConfig } from './testUtils/config.ts'
import { drain, ScriptedStage } from './testUtils/stages.ts'

const CONFIG = testConfig('fjord')

function singular(number: number): Uint8Array {
  return encodeSingularBatch({
    parentHash: fakeHash('l2', number - 1),
    epochNumber: 0,
    epochHash: fakeHash('l1', 0),
    timestamp: GENESIS_TIME + number * 2,
    transactions: [],
  })
}

function spanOf(number: number, transactions: Uint8Array[] = []): Uint8Array {
  return encodeSpanBatch(
    [
      {
        parentHash: fakeHash('l2', number - 1),
        epochNumber: 0,
        epochHash: fakeHash('l1', 0),
        timestamp: GENESIS_TIME + number * 2,
        sequenceNumber: number,
        transactions,
      },
    ],
    CONFIG,
  )
}

const HASH = new Uint8Array(32).fill(5)

function singularWith(fields: Parameters<typeof encodeRlp>[0]): Uint8Array {
  return concatBytes(Uint8Array.of(0), encodeRlp(fields))
}

function channelOf(...batches: Uint8Array[]): Uint8Array {
  return concatBytes(...batches.map((batch) => encodeRlp(batch)))
}

/** The batches that the last call of `read` dropped alone. */
let dropped: DerivationEvent[] = []

/** Numbers of the L2 blocks whose batches come out; `s` marks span batches. */
async function read(fork: Fork, ...channels: Uint8Array[]): Promise<string> {
  const prev = new ScriptedStage<Uint8Array>().push(...channels)
  dropped = []
  const emit = (event: DerivationEvent) => event.kind === 'batch-dropped' && dropped.push(event)
  const batches = await drain(new ChannelReader({ prev, logger: silentLogger, emit }, testConfig(fork)))
  return batches
    .map((batch) => {
      const timestamp = batch.type === 'span' ? batch.timestampAt(0) : batch.timestamp
      return `${((timestamp ?? 0) - GENESIS_TIME) / 2}${batch.type === 'span' ? 's' : ''}`
    })
    .join(' ')
}

const DROPPED = { kind: 'batch-dropped', l1Block: 1, type: 'span', reason: expect.any(String), losesChannel: false }

describe('channel reader', () => {
  const brotli = compressChannel(channelOf(singular(7)), 'brotli-10')
  const zlib7 = compressChannel(channelOf(singular(7)), 'zlib')

  it('reads all batches of a channel, then the next channel', async () => {
    const first = compressChannel(channelOf(singular(1), spanOf(2), singular(3)), 'zlib')
    expect(await read('granite', first, compressChannel(channelOf(singular(4)), 'zlib'), brotli)).toBe('1 2s 3 4 7')
  })

  it('drops only the span batches before Delta', async () => {
    const channel = compressChannel(channelOf(singular(1), spanOf(2), singular(3)), 'zlib')
    expect(await read('canyon', channel)).toBe('1 3')
    expect(dropped).toEqual([DROPPED])
  })

  /** A span of one block with one transaction of this type and data. */
  const spanWith = (type: number, data: Uint8Array, prefix = Uint8Array.of(1, 0, 0)) => {
    const columns = [new Uint8Array(40), Uint8Array.of(1, 0, 1), Uint8Array.of(0, 0), new Uint8Array(84)]
    return concatBytes(prefix, ...columns, type < 0xc0 ? Uint8Array.of(type) : EMPTY_BYTES, data, Uint8Array.of(0, 0))
  }

  // Each faulty batch is between two valid batches.
  it.each([
    ['a singular batch with a field too many', singularWith([HASH, 0, HASH, 1, [], 1])],
    ['a singular batch with a field too few', singularWith([HASH, 0, HASH, 1])],
    ['a singular batch with a short hash', singularWith([new Uint8Array(31), 0, HASH, 1, []])],
    ['a singular batch with a number that is not minimal', singularWith([HASH, Uint8Array.of(0, 1), HASH, 1, []])],
    ['a singular batch with a number of 65 bits', singularWith([HASH, 2n ** 64n, HASH, 1, []])],
    ['a singular batch with a transaction that is a list', singularWith([HASH, 0, HASH, 1, [[1]]])],
    ['a singular batch that is a string', Uint8Array.of(0, 0x81, 0x90)],
    ['a type byte alone', Uint8Array.of(0)],
    ['a span without content', Uint8Array.of(1)],
    ['a span without blocks', concatBytes(Uint8Array.of(1, 0, 0), new Uint8Array(41))],
    ['a span whose first number has 65 bits', concatBytes(Uint8Array.of(1), new Uint8Array(9).fill(0xff), spanOf(2))],
    [
      'a span with an origin bit too many',
      concatBytes(Uint8Array.of(1, 0, 0), new Uint8Array(40), Uint8Array.of(1, 2, 0)),
    ],
    ['a span with transaction data that are a string', spanWith(2, Uint8Array.of(0x80))],
    ['a span with truncated columns', spanWith(2, Uint8Array.of(0xc1))],
    ['an unknown batch type', Uint8Array.of(2, 1)],
    ['an empty item', EMPTY_BYTES],
  ])('drops the rest of the channel at %s, under every fork', async (_, batch) => {
    const channel = compressChannel(channelOf(singular(1), batch, singular(2)), 'zlib')
    for (const fork of ['canyon', 'granite', 'holocene'] as const) expect(await read(fork, channel, zlib7)).toBe('1 7')
  })

  it.each([
    ['type 3', spanWith(3, Uint8Array.of(0xc0))],
    ['type 0', concatBytes(spanWith(0, Uint8Array.of(0xc0)), Uint8Array.of(0))],
    ['a legacy type without fields', concatBytes(spanWith(0xc0, Uint8Array.of(0xc0)), Uint8Array.of(0))],
    ['type 0x7d with a recipient', spanWith(0x7d, Uint8Array.of(0xc0))],
  ])('drops only a span batch that has a transaction of %s', async (_, batch) => {
    const channel = compressChannel(channelOf(singular(1), batch, singular(2)), 'zlib')
    expect(await read('holocene', channel)).toBe('1 2')
    expect(dropped).toEqual([DROPPED])
  })

  it('leaves a type 0x7d to the batch rules when it may be allowed', async () => {
    const channel = compressChannel(channelOf(spanOf(1, [Uint8Array.of(0x7d, 0xc1, 5)])), 'zlib')
    expect(await read('karst', channel)).toBe('1s')
    expect(await read('lagoon', channel)).toBe('1s')
  })

  it('ignores trailing bytes of a batch within its item', async () => {
    const more = Uint8Array.of(9, 9, 9)
    const channel = channelOf(concatBytes(singular(1), more), concatBytes(spanOf(2), more), singular(3))
    expect(await read('granite', compressChannel(channel, 'zlib'))).toBe('1 2s 3')
  })

  it('reads numbers up to 64 bits, and leaves their check to the batch rules', async () => {
    const prev = new ScriptedStage<Uint8Array>()
    prev.push(compressChannel(channelOf(singularWith([HASH, 2n ** 64n - 1n, HASH, 2n ** 53n + 1n, []])), 'zlib'))
    const [batch] = await drain(new ChannelReader({ prev, logger: silentLogger }, CONFIG))
    expect(batch).toMatchObject({ epochNumber: 2 ** 64, timestamp: 2 ** 53 })
  })

  it('keeps the batches before invalid RLP', async () => {
    const broken = concatBytes(channelOf(singular(1)), Uint8Array.of(0xff, 0xff), channelOf(singular(2)))
    expect(await read('granite', compressChannel(broken, 'zlib'), brotli)).toBe('1 7')
    const list = concatBytes(channelOf(singular(1)), encodeRlp([singular(2)]))
    expect(await read('granite', compressChannel(list, 'zlib'), brotli)).toBe('1 7')
  })

  it('keeps the batches before invalid compressed data', async () => {
    const batches = Array.from({ length: 2000 }, (_, index) => singular(index))
    const whole = compressChannel(channelOf(...batches), 'zlib')
    const numbers = (await read('granite', whole.subarray(0, whole.length - 1000), brotli)).split(' ').map(Number)
    const last = numbers.pop()
    expect(last).toBe(7)
    expect(numbers.length).toBeGreaterThan(500)
    expect(numbers.length).toBeLessThan(2000)
    expect(numbers).toEqual(numbers.map((_, index) => index))
  })

  it.each([
    ['empty', new Uint8Array(0)],
    ['of unknown compression', Uint8Array.of(0x42, 1, 2, 3)],
    ['of brotli garbage', Uint8Array.of(1, 0xff, 0xff, 0xff)],
    ['of zlib garbage', Uint8Array.of(0x78, 0x9c, 0xff, 0xff)],
  ])('skips a channel that is %s', async (_, channel) => {
    expect(await read('granite', channel, brotli)).toBe('7')
  })

  it('does not accept brotli before Fjord', async () => {
    const zlib = compressChannel(channelOf(singular(1)), 'zlib')
    expect(await read('ecotone', brotli, zlib)).toBe('1')
  })

  it('stops reading at the size limit of the fork', async () => {
    const large = (number: number) =>
      encodeSingularBatch({
        parentHash: fakeHash('l2', number - 1),
        epochNumber: 0,
        epochHash: fakeHash('l1', 0),
        timestamp: GENESIS_TIME + number * 2,
        transactions: [new Uint8Array(6_000_000).fill(1)],
      })
    const channel = compressChannel(channelOf(large(1), large(2)), 'zlib')
    expect(await read('ecotone', channel)).toBe('1')
    expect(await read('fjord', channel)).toBe('1 2')
  })

  it('drops the channel when flushed', async () => {
    const prev = new ScriptedStage<Uint8Array>()
    const reader = new ChannelReader({ prev, logger: silentLogger }, CONFIG)
    prev.push(compressChannel(channelOf(singular(1), singular(2)), 'zlib'))
    expect(await reader.next()).toMatchObject({ timestamp: GENESIS_TIME + 2 })
    reader.flushChannel()
    expect(prev.flushed).toBe(1)
    prev.push(brotli)
    expect(await drain(reader)).toMatchObject([{ timestamp: GENESIS_TIME + 14 }])
  })
})
