import { describe, expect, it } from 'vitest'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import { testBlock, testBlocks, testConfig } from '../testUtils/testChain.ts'
import { createTrustedBlocks } from './trustedBlocks.ts'

const config = testConfig()
const chain = testBlocks(config, 1, 20)

function block(number: number) {
  const found = chain[number - 1]
  if (found === undefined) throw new Error(`no block ${number}`)
  return found
}

function setUp() {
  const released: number[] = []
  const rejected: string[] = []
  const blocks = createTrustedBlocks({
    onTrusted: (envelope) => released.push(envelope.payload.blockNumber),
    onRejected: (from) => rejected.push(from),
  })
  return { released, rejected, blocks }
}

describe('createTrustedBlocks', () => {
  it('keeps early answers until the block above them is trusted', () => {
    const { blocks, released } = setUp()
    blocks.trust(block(10))
    blocks.offer(block(7), 'peer')
    blocks.offer(block(8), 'peer')
    expect(released).toEqual([])
    expect(blocks.quarantined()).toBe(2)
    expect(blocks.has(8)).toBe(true)
    blocks.offer(block(9), 'peer')
    expect(released).toEqual([9, 8, 7])
    expect(blocks.quarantined()).toBe(0)
  })

  it('rejects another block at a height whose hash is known, early or late', () => {
    const { blocks, released, rejected } = setUp()
    const forged = testBlock(config, { blockNumber: 9, gasUsed: 1n })
    blocks.offer(forged, 'early')
    blocks.trust(block(10))
    expect(rejected).toEqual(['early'])
    blocks.offer(forged, 'late')
    expect(rejected).toEqual(['early', 'late'])
    expect(released).toEqual([])
  })

  it('rejects a different block that waits below a released one', () => {
    const { blocks, released, rejected } = setUp()
    blocks.offer(testBlock(config, { blockNumber: 8, gasUsed: 1n }), 'liar')
    blocks.trust(block(10))
    expect(rejected).toEqual([])
    blocks.offer(block(9), 'peer')
    expect(rejected).toEqual(['liar'])
    expect(blocks.quarantined()).toBe(0)
    blocks.offer(block(10), 'peer')
    expect(released).toEqual([9, 10])
  })

  it('drops the oldest of more than a hundred waiting blocks, and penalises its sender', () => {
    const { blocks, rejected } = setUp()
    for (let n = 0; n < 101; n++) blocks.offer(testBlock(config, { blockNumber: 5, gasUsed: BigInt(n) }), `peer${n}`)
    expect(blocks.quarantined()).toBe(100)
    expect(rejected).toEqual(['peer0'])
  })

  const ofBytes = (blockNumber: number, bytes: number) =>
    testBlock(config, { blockNumber, transactions: [new Uint8Array(bytes)] })

  it('above 64 MiB, drops the lowest waiting block without a penalty', () => {
    const { blocks, released, rejected } = setUp()
    const numbers = [20, 12, 19, 18, 17, 16, 15]
    for (const number of numbers) blocks.offer(ofBytes(number, 10_000_000), 'peer')
    expect(numbers.filter((number) => !blocks.has(number))).toEqual([12])
    blocks.offer(ofBytes(11, 10_000_000), 'peer')
    expect(blocks.has(11)).toBe(false)
    blocks.offer(ofBytes(21, 10_000_000), 'peer')
    expect(numbers.filter((number) => !blocks.has(number))).toEqual([12, 15])
    expect(blocks.quarantined()).toBe(6)
    // The same block from several peers takes its memory once.
    const same = ofBytes(30, 1_000_000)
    for (let n = 0; n < 10; n++) blocks.offer(same, 'peer')
    expect(blocks.quarantined()).toBe(7)
    expect(released).toEqual([])
    expect(rejected).toEqual([])
  })

  it('counts the memory of small transactions, and frees it on release', () => {
    const { blocks, released } = setUp()
    const small = new Array(60_000).fill(Uint8Array.of(1))
    for (let n = 0; n < 20; n++) blocks.offer(testBlock(config, { blockNumber: 100 - n, transactions: small }), 'peer')
    expect(blocks.quarantined()).toBe(8)
    for (let number = 19; number >= 1; number--) {
      const good = ofBytes(number, 10_000_000)
      blocks.trust(testBlock(config, { blockNumber: number + 1, parentHash: good.payload.blockHash }))
      blocks.offer(good, 'peer')
    }
    expect(released).toHaveLength(19)
    expect(blocks.quarantined()).toBe(8)
  })

  it('does not penalise peers that send another branch', () => {
    const { blocks, released, rejected } = setUp()
    for (const number of [5, 6, 7, 8]) blocks.trust(block(number))
    // The same heights with other contents, on top of block 3.
    const other = (blockNumber: number): PayloadEnvelope => {
      const { blockHash: parentHash } = (blockNumber === 4 ? block(3) : other(blockNumber - 1)).payload
      const { timestamp } = block(blockNumber).payload
      return testBlock(config, { blockNumber, parentHash, timestamp, gasUsed: 7n })
    }
    blocks.trust(other(9))
    // Out of order, as from several peers.
    for (const number of [6, 5, 8, 4, 7]) blocks.offer(other(number), 'honest')
    expect(rejected).toEqual([])
    expect(released).toEqual([8, 7, 6, 5, 4])
  })

  it('keeps recent trusted blocks of the current branch to serve them', () => {
    const { blocks } = setUp()
    blocks.trust(block(10))
    blocks.offer(block(9), 'peer')
    expect(blocks.recent(10)).toEqual(block(10))
    expect(blocks.recent(9)).toEqual(block(9))
    expect(blocks.recent(8)).toBeUndefined()
    blocks.trust(testBlock(config, { blockNumber: 10, gasUsed: 7n }))
    expect(blocks.recent(9)).toBeUndefined()
    for (let n = 0; n < 300; n++) blocks.trust(testBlock(config, { blockNumber: 100 + n }))
    expect(blocks.recent(10)).toBeUndefined()
    expect(blocks.recent(399)).toBeDefined()
  })

  it('keeps 32 MiB of trusted blocks, one per height', () => {
    const { blocks } = setUp()
    const transactions = [new Uint8Array(1_100_000)]
    let parentHash = block(1).payload.parentHash
    for (let blockNumber = 1; blockNumber <= 40; blockNumber++) {
      const next = testBlock(config, { blockNumber, parentHash, transactions })
      blocks.trust(next)
      parentHash = next.payload.blockHash
    }
    const kept = Array.from({ length: 40 }, (_, n) => n + 1).filter((number) => blocks.recent(number) !== undefined)
    expect(kept).toEqual(Array.from({ length: 30 }, (_, n) => n + 11))
    for (let n = 0; n < 40; n++) {
      blocks.trust(testBlock(config, { blockNumber: 41, parentHash, gasUsed: BigInt(n), transactions }))
    }
    expect([40, 41].map((number) => blocks.recent(number)?.payload.blockNumber)).toEqual([40, 41])
  })
})
