import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { silentLogger } from '../../lib/logger.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { compressChannel, encodeSingularBatch, encodeSpanBatch } from '../protocol/index.ts'
import type { Fork } from '../protocol/types.ts'
import { ChannelReader } from './channelReader.ts'
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

function spanOf(number: number): Uint8Array {
  return encodeSpanBatch(
    [
      {
        parentHash: fakeHash('l2', number - 1),
        epochNumber: 0,
        epochHash: fakeHash('l1', 0),
        timestamp: GENESIS_TIME + number * 2,
        sequenceNumber: number,
        transactions: [],
      },
    ],
    CONFIG,
  )
}

function channelOf(...batches: Uint8Array[]): Uint8Array {
  return concatBytes(...batches.map((batch) => encodeRlp(batch)))
}

/** Numbers of the L2 blocks whose batches come out, `s` marking span batches. */
async function read(fork: Fork, ...channels: Uint8Array[]): Promise<string> {
  const prev = new ScriptedStage<Uint8Array>().push(...channels)
  const batches = await drain(new ChannelReader({ prev, logger: silentLogger }, testConfig(fork)))
  return batches
    .map((batch) => {
      const timestamp = batch.type === 'span' ? batch.elements[0]?.timestamp : batch.timestamp
      return `${((timestamp ?? 0) - GENESIS_TIME) / 2}${batch.type === 'span' ? 's' : ''}`
    })
    .join(' ')
}

describe('channel reader', () => {
  const brotli = compressChannel(channelOf(singular(7)), 'brotli-10')

  it('reads all batches of a channel, then the next channel', async () => {
    const first = compressChannel(channelOf(singular(1), spanOf(2), singular(3)), 'zlib')
    expect(await read('granite', first, compressChannel(channelOf(singular(4)), 'zlib'), brotli)).toBe('1 2s 3 4 7')
  })

  it('drops span batches before Delta alone', async () => {
    const channel = compressChannel(channelOf(singular(1), spanOf(2), singular(3)), 'zlib')
    expect(await read('canyon', channel)).toBe('1 3')
  })

  it('drops malformed batches alone', async () => {
    const channel = channelOf(singular(1), Uint8Array.of(0, 1, 2), Uint8Array.of(1), singular(2))
    expect(await read('granite', compressChannel(channel, 'zlib'))).toBe('1 2')
  })

  it('leaves a channel whose RLP breaks, keeping what came before', async () => {
    const broken = concatBytes(channelOf(singular(1)), Uint8Array.of(0xff, 0xff), channelOf(singular(2)))
    expect(await read('granite', compressChannel(broken, 'zlib'), brotli)).toBe('1 7')
    const list = concatBytes(channelOf(singular(1)), encodeRlp([singular(2)]))
    expect(await read('granite', compressChannel(list, 'zlib'), brotli)).toBe('1 7')
  })

  it('leaves a channel whose compression breaks, keeping what came before', async () => {
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

  it('knows no brotli before Fjord', async () => {
    const zlib = compressChannel(channelOf(singular(1)), 'zlib')
    expect(await read('ecotone', brotli, zlib)).toBe('1')
  })

  it('reads no further than the limit of the fork', async () => {
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

  it('leaves the channel when flushed', async () => {
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
