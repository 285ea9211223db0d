import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { findRecentTxBlock } from './recentTx.ts'

/** Nonces after each block, index = number. */
function l1Of(nonces: readonly number[]) {
  return {
    head: async () => ({ hash: '0x' as const, parentHash: '0x' as const, number: nonces.length - 1, timestamp: 0 }),
    nonceAt: async (_address: string, block: 'latest' | number) =>
      nonces[block === 'latest' ? nonces.length - 1 : block] ?? 0,
  }
}

const signal = new AbortController().signal
const rising = [0, 0, 1, 1, 1, 4, 4, 4, 4, 4]

describe('findRecentTxBlock', () => {
  it.each([
    { id: 'depth 0: the head', nonces: rising, depth: 0, expected: 9 },
    { id: 'last change within the depth', nonces: rising, depth: 6, expected: 5 },
    { id: 'change right after the oldest block', nonces: rising, depth: 5, expected: 5 },
    { id: 'no change within the depth', nonces: rising, depth: 3, expected: 6 },
    { id: 'change in the head itself', nonces: [...rising, 5], depth: 4, expected: 10 },
    { id: 'deeper than the chain', nonces: rising, depth: 128, expected: 5 },
  ])('$id', async ({ nonces, depth, expected }) => {
    expect(await findRecentTxBlock(l1Of(nonces), '0x00', depth, signal)).toBe(expected)
  })

  it('reports that the L1 reorganised during the search', async () => {
    const stable = l1Of([0, 0, 0, 2, 2, 2])
    let probes = 0
    const l1 = {
      ...stable,
      nonceAt: async (address: string, block: 'latest' | number) =>
        ++probes === 3 ? 7 : stable.nonceAt(address, block),
    }
    await expect(findRecentTxBlock(l1, '0x00', 5, signal)).rejects.toThrow(errorWith('l1-inconsistent'))
  })
})
