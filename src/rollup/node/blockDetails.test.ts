import { expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { testBlock, testConfig } from '../../p2p/testUtils/testChain.ts'
import type { L1Transaction } from '../protocol/types.ts'
import { readBlockDetails } from './blockDetails.ts'

const INBOX: Hex = `0x${'ff'.repeat(20)}`
const OTHER: Hex = `0x${'11'.repeat(20)}`
const hashOf = (digit: string): Hex => `0x${digit.repeat(64)}`
const posted = (digit: string, to: Hex): L1Transaction => {
  return { hash: hashOf(digit), type: 2, from: OTHER, to, input: new Uint8Array() }
}

it('shows the L1 block that made a block safe, and the posted batch transactions', async () => {
  const block = testBlock(testConfig(), { blockNumber: 7 })
  const { blockHash } = block.payload
  const safeBy = { hash: hashOf('a'), number: 3 }
  const modules = {
    engine: { payloadByHash: async (hash: Hex) => (hash === blockHash ? block : undefined) },
    l1: {
      transactions: async (hash: Hex) => ({
        transactions: hash === safeBy.hash ? [posted('1', INBOX), posted('2', OTHER)] : [],
      }),
    },
    recent: () => [{ hash: blockHash, safeBy }],
  }
  const details = { payload: block.payload, safeBy, batchTransactions: [hashOf('1')] }
  expect(await readBlockDetails(modules, INBOX, blockHash)).toEqual(details)
  expect(await readBlockDetails({ ...modules, recent: () => [] }, INBOX, blockHash)).toEqual({
    ...{ payload: block.payload, safeBy: undefined, batchTransactions: [] },
  })
  expect(await readBlockDetails(modules, INBOX, hashOf('b'))).toBeUndefined()
})
