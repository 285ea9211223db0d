import { expect, it } from 'vitest'
import { testBlock, testConfig } from '../p2p/testUtils/testChain.ts'
import { decodeTransaction, encodeDepositTx } from '../rollup/protocol/index.ts'
import { blockDetailsToJson } from './blockDetailsJson.ts'
import { blockDetails } from './schemas/blockDetails.ts'

it('a block has at most 200 of its transactions', () => {
  const { payload } = testBlock(testConfig(), { blockNumber: 9 })
  const first = encodeDepositTx({
    sourceHash: payload.parentHash,
    from: `0x${'11'.repeat(20)}`,
    to: null,
    mint: 0n,
    value: 5n,
    gas: 21_000n,
    isSystemTx: false,
    data: new Uint8Array(),
  })
  const transactions = Array.from({ length: 201 }, () => first)
  const safeBy = { hash: payload.parentHash, number: 4 }
  const json = blockDetailsToJson({ payload: { ...payload, transactions }, safeBy, batchTransactions: [] })
  const read = blockDetails.parse(
    JSON.parse(JSON.stringify(json, (_, value) => (typeof value === 'bigint' ? Number(value) : value))),
  )
  expect(read).toMatchObject({ number: 9, hash: payload.blockHash, transactionCount: 201, safeBy })
  expect(read.transactions).toHaveLength(200)
  expect(read.transactions[0]).toMatchObject({ hash: decodeTransaction(first).hash, type: 0x7e, to: null, value: '5' })
})
