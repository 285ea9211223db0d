import { expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { findTxByNonce } from './foreignTx.ts'

const ADDRESS: Hex = `0x${'11'.repeat(20)}`
const { signal } = new AbortController()

/** An L1 whose account sent one transaction in each of these blocks, from nonce 0 on. */
function l1With(head: number, blocks: readonly number[]) {
  const hashOf = (nonce: number): Hex => `0x${nonce.toString(16).padStart(64, '0')}`
  return {
    head: async () => ({ number: head, hash: hashOf(0), parentHash: hashOf(0), timestamp: head }),
    nonceAt: async (_: Hex, block: 'latest' | 'pending' | number) => blocks.filter((at) => at <= Number(block)).length,
    transactionsOf: async (_: Hex, number: number) =>
      blocks.flatMap((at, nonce) => (at === number ? [{ hash: hashOf(nonce), to: undefined, nonce }] : [])),
  }
}

it.each([
  [0, 873],
  [1, 900],
  [2, 900],
  [3, 1_000],
])('finds the transaction of nonce %i in block %i', async (nonce, blockNumber) => {
  const found = await findTxByNonce(l1With(1_000, [873, 900, 900, 1_000]), ADDRESS, nonce, signal)
  expect(found).toEqual({ hash: expect.any(String), to: undefined, nonce, blockNumber })
})

it('finds a transaction in the first blocks of a young chain', async () => {
  expect(await findTxByNonce(l1With(5, [1, 5]), ADDRESS, 0, signal)).toMatchObject({ nonce: 0, blockNumber: 1 })
})

it('does not find a transaction that is not mined, or that is older than 128 blocks', async () => {
  expect(await findTxByNonce(l1With(1_000, [900]), ADDRESS, 1, signal)).toBeUndefined()
  expect(await findTxByNonce(l1With(1_000, [800, 900]), ADDRESS, 0, signal)).toBeUndefined()
})
