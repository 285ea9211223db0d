import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import type { ChainReads } from '../chain/storage/chainReads.ts'
import { NO_STATE } from '../state/stateDatabase.ts'
import { ROOT_KEY, type StateKey } from '../state/stateKeys.ts'
import { cacheReads } from './cachedReads.ts'

const hashOf = (byte: number): Hex => `0x${byte.toString(16).padStart(2, '0').repeat(32)}`
const HASH = new Uint8Array(32).fill(7)

/** Answers with the present values, and records each read. */
function start() {
  const labels = { version: 1, reorgs: 0 }
  const requested: string[] = []
  const there = { canonical: hashOf(1), isKept: true, receiptBytes: 100 }
  const source: ChainReads = {
    header: (hash) => {
      requested.push(`header ${hash.slice(0, 4)}`)
      return Uint8Array.of(0)
    },
    canonicalHeaders: (first) => {
      requested.push(`headers ${first}`)
      const numbers = [first, first + 1, first + 2].filter((number) => number <= 9)
      return numbers.map((number) => ({ hash: hashOf(number), header: Uint8Array.of(number) }))
    },
    body: () => undefined,
    code: () => undefined,
    receipts: (hash) => {
      requested.push(`receipts ${hash.slice(0, 4)}`)
      return new Uint8Array(there.receiptBytes)
    },
    canonicalHash: (number) => {
      requested.push(`canonical ${number}`)
      return number > 9 ? undefined : there.canonical
    },
    transaction: (hash) => {
      requested.push(`transaction ${hash.slice(0, 4)}`)
      return { blockHash: there.canonical, index: 0 }
    },
    stateAt: () => ({
      ...NO_STATE,
      node: (key) => {
        requested.push(key === ROOT_KEY ? 'root' : 'another node')
        return there.isKept ? Uint8Array.of(1) : undefined
      },
    }),
  }
  const reads = cacheReads(source, () => ({ ...labels }))
  /** The reads of the engine process. */
  const requestedBy = (read: (reads: ChainReads) => unknown): string[] => {
    requested.length = 0
    read(reads)
    return [...requested]
  }
  return { labels, there, reads, requestedBy }
}

describe('cached reads', () => {
  it('reread canonical hashes only after a reorg', () => {
    const { labels, there, reads, requestedBy } = start()
    expect(requestedBy((reads) => reads.canonicalHash(1))).toEqual(['canonical 1'])
    expect(requestedBy((reads) => reads.transaction(hashOf(5)))).toEqual(['transaction 0x05'])
    labels.version++
    expect(requestedBy((reads) => [reads.canonicalHash(1), reads.transaction(hashOf(5))])).toEqual([])
    Object.assign(labels, { version: labels.version + 1, reorgs: 1 })
    there.canonical = hashOf(2)
    expect(reads.canonicalHash(1)).toBe(hashOf(2))
    expect(reads.transaction(hashOf(5))).toEqual({ blockHash: hashOf(2), index: 0 })
  })

  it('read the blocks after the last one together', () => {
    const { labels, requestedBy } = start()
    const headers: unknown[] = []
    const readFrom = (reads: ChainReads, first: number) => {
      for (let number = first; number <= 10; number++) {
        const hash = reads.canonicalHash(number)
        headers.push(hash && reads.header(hash)?.[0])
      }
    }
    expect(requestedBy((reads) => readFrom(reads, 4))).toEqual([
      'canonical 4',
      'header 0x01',
      'headers 5',
      'headers 8',
      'headers 10',
    ])
    expect(headers).toEqual([0, 5, 6, 7, 8, 9, undefined])
    expect(requestedBy((reads) => readFrom(reads, 5))).toEqual(['canonical 10'])
    labels.reorgs = 1
    expect(requestedBy((reads) => reads.canonicalHash(6))).toEqual(['canonical 6'])
  })

  it('reread a missing block', () => {
    const { requestedBy } = start()
    expect(requestedBy((reads) => [reads.canonicalHash(10), reads.canonicalHash(10)])).toEqual([
      'canonical 10',
      'canonical 10',
    ])
  })

  it('check once per forkchoice that a state exists', () => {
    const { labels, there, reads, requestedBy } = start()
    const node = (reads: ChainReads, key: StateKey, block = 1) => reads.stateAt(hashOf(block))?.node(key, HASH)
    expect(requestedBy((reads) => [node(reads, ROOT_KEY), node(reads, ROOT_KEY)])).toEqual(['root'])
    expect(requestedBy((reads) => node(reads, ROOT_KEY, 2))).toEqual(['root'])
    expect(requestedBy((reads) => [node(reads, 'A1'), node(reads, 'A1')])).toHaveLength(2)
    there.isKept = false
    expect(node(reads, ROOT_KEY)).toBeDefined()
    labels.version++
    expect(node(reads, ROOT_KEY)).toBeUndefined()
  })

  it('cache receipts, except large ones', () => {
    const { there, requestedBy } = start()
    expect(requestedBy((reads) => [reads.receipts(hashOf(1)), reads.receipts(hashOf(1))])).toHaveLength(1)
    there.receiptBytes = 40_000
    expect(requestedBy((reads) => [reads.receipts(hashOf(2)), reads.receipts(hashOf(2))])).toHaveLength(2)
  })
})
