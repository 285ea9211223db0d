import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Hex } from '../../../lib/hex.ts'
import { propertyRuns } from '../../../lib/testUtils/propertyRuns.ts'
import { loadRecordedRpc, receiptFromJson, recordedBlock } from '../../testUtils/recordedRpc.ts'
import { createBloomTest, logFilter, logFilterToJson, matchesLog } from './logFilter.ts'

const A: Hex = `0x${'aa'.repeat(20)}`
const B: Hex = `0x${'bb'.repeat(20)}`
const T: Hex = `0x${'01'.repeat(32)}`
const U: Hex = `0x${'02'.repeat(32)}`
const log = { address: A, topics: [T, U] }

it.each([
  {},
  { fromBlock: '0x5', toBlock: 'safe', address: [A, B], topics: [null, [T, U], T] },
  { blockHash: T, address: A },
])('logFilterToJson writes what logFilter has read: %j', (given) => {
  const filter = logFilter.parse(given)
  const json = logFilterToJson(filter)
  expect(logFilter.parse(JSON.parse(JSON.stringify(json)))).toEqual(filter)
})

it('a filter keeps nothing of its JSON but the criteria', () => {
  const json = logFilterToJson(logFilter.parse({ address: A, x: [{}, {}] }))
  expect(json).toEqual({ fromBlock: null, toBlock: null, address: [A], topics: [] })
})

describe('matchesLog', () => {
  it.each([
    ['everything', {}, true],
    ['its address in upper case', { address: A.toUpperCase().replace('0X', '0x') }, true],
    ['one of two addresses', { address: [B, A] }, true],
    ['another address', { address: B }, false],
    ['no address in the list', { address: [] }, true],
    ['the first topic', { topics: [T] }, true],
    ['a wildcard, then the second topic', { topics: [null, U] }, true],
    ['alternatives', { topics: [[U, T], [U]] }, true],
    ['an empty list of alternatives', { topics: [[], U] }, true],
    ['null among the alternatives', { topics: [[null, U]] }, true],
    ['a topic at the wrong position', { topics: [U] }, false],
    ['more topics than the log has', { topics: [T, U, null] }, false],
  ])('%s', (_, filter, expected) => {
    expect(matchesLog(logFilter.parse(filter), log)).toBe(expected)
  })

  it.each([
    [{ blockHash: T, fromBlock: '0x1' }, 'cannot specify both BlockHash and FromBlock/ToBlock'],
    [{ topics: [T, T, T, T, T] }, 'exceed max topics'],
    [{ address: Array(1001).fill(A) }, 'exceed max addresses'],
    [{ address: 'A' }, 'address'],
    [[], 'object'],
  ])('refuses %j', (filter, message) => {
    expect(() => logFilter.parse(filter)).toThrow(message)
  })
})

describe('blooms of recorded blocks', () => {
  const recording = loadRecordedRpc('granite-singular-zlib-calldata')
  const blocks = recording.blocks.map((_, number) => recordedBlock(recording, number).header)
  const logs = recording.receipts.map((receipts) => receipts.flatMap((json) => receiptFromJson(json).logs))

  it('never exclude a block that has the log', () => {
    expect(logs.flat().length).toBeGreaterThan(20)
    for (const [number, header] of blocks.entries()) {
      for (const { address, topics } of logs[number] ?? []) {
        expect(
          createBloomTest({ addresses: [B, address], topics: topics.map((topic) => [topic]) })(header.logsBloom),
        ).toBe(true)
      }
    }
  })

  it('exclude every pattern if the block has no logs', () => {
    const mayMatch = createBloomTest({ addresses: [], topics: [] })
    for (const [number, { logsBloom }] of blocks.entries()) {
      expect(mayMatch(logsBloom)).toBe((logs[number]?.length ?? 0) > 0)
    }
  })

  it('exclude a pattern that no block has', () => {
    const otherAddresses = fc.uint8Array({ minLength: 20, maxLength: 20 })
    // The blooms of a recorded chain share their bits: an address that passes one block passes many.
    let addressesThatPass = 0
    fc.assert(
      fc.property(otherAddresses, (bytes) => {
        const test = createBloomTest({ addresses: [`0x${Buffer.from(bytes).toString('hex')}`], topics: [] })
        if (blocks.some(({ logsBloom }) => test(logsBloom))) addressesThatPass++
      }),
      { numRuns: propertyRuns(100) },
    )
    expect(addressesThatPass).toBeLessThan(5)
  })
})
