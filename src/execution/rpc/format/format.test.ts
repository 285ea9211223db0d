import { describe, expect, it } from 'vitest'
import { keccak256Hex } from '../../../lib/hash.ts'
import { encodeBlock } from '../../chain/blockReader.ts'
import { encodeHeader } from '../../chain/storage/headerCodec.ts'
import type { DepositTransaction, SignedTransaction } from '../../primitives/block.ts'
import { loadRecordedRpc, RECORDINGS, receiptFromJson, recordedBlock } from '../../testUtils/recordedRpc.ts'
import { formatBlock } from './formatBlock.ts'
import { formatReceipt } from './formatReceipt.ts'
import { formatTransaction } from './formatTransaction.ts'

describe.each(RECORDINGS)("op-geth's recording of %s", (name) => {
  const recording = loadRecordedRpc(name)
  const numbers = recording.blocks.map((_, number) => number)

  it('blocks with full transactions have the same members', () => {
    for (const number of numbers) {
      const receipts = recording.receipts[number]?.map(receiptFromJson) ?? []
      expect(formatBlock(recordedBlock(recording, number), receipts)).toEqual(recording.blocks[number])
    }
  })

  it('blocks with transaction hashes have the same members', () => {
    for (const number of numbers) {
      const { transactions, ...rest } = recording.blocks[number] ?? { transactions: [] }
      const expected = { ...rest, transactions: transactions.map(({ hash }) => hash) }
      expect(formatBlock(recordedBlock(recording, number), undefined)).toEqual(expected)
    }
  })

  it('receipts have the same members', () => {
    expect(recording.receipts.flat().length).toBeGreaterThan(100)
    for (const [number, receipts] of recording.receipts.entries()) {
      const { timestamp } = recordedBlock(recording, number).header
      for (const json of receipts) expect(formatReceipt(receiptFromJson(json), timestamp)).toEqual(json)
    }
  })

  it('the consensus encodings have the recorded hash and size', () => {
    for (const number of numbers) {
      const block = recordedBlock(recording, number)
      expect(keccak256Hex(encodeHeader(block.header))).toBe(block.header.hash)
      expect(encodeBlock(block).length).toBe(block.sizeBytes)
    }
  })
})

describe('transactions that are not in the recordings', () => {
  const block = recordedBlock(loadRecordedRpc('granite-singular-zlib-calldata'), 5)
  const signed = block.transactions.find((tx): tx is SignedTransaction => tx.type === 2)
  const deposit = block.transactions.find((tx): tx is DepositTransaction => tx.type === 0x7e)
  if (signed === undefined || deposit === undefined) throw new Error('recording changed')

  it('a pool transaction has no block, and the fee cap as gas price', () => {
    const json = formatTransaction(signed, undefined)
    expect(json).toMatchObject({ blockHash: null, blockNumber: null, blockTimestamp: null, transactionIndex: null })
    expect(json.gasPrice).toBe(json.maxFeePerGas)
  })

  it('a system deposit before Canyon has isSystemTx', () => {
    const json = formatTransaction(
      { ...deposit, isSystemTx: true },
      { header: block.header, index: 0, receipt: { depositNonce: 7 } },
    )
    expect(json).toMatchObject({ isSystemTx: true, nonce: '0x7' })
    expect(json).not.toHaveProperty('depositReceiptVersion')
  })

  it('a legacy transaction without replay protection has no chain id', () => {
    const { chainId: _, ...rest } = signed
    expect(formatTransaction({ ...rest, type: 0, v: 27n }, undefined)).not.toHaveProperty('chainId')
  })

  it('a set-code transaction shows its authorizations', () => {
    const authorization = { chainId: 901n, address: deposit.from, nonce: 1n, yParity: 1, r: 5n, s: 6n }
    const json = formatTransaction(
      { ...signed, type: 4, authorizationList: [{ ...authorization, authority: undefined }] },
      undefined,
    )
    expect(json.authorizationList).toEqual([
      { chainId: '0x385', address: deposit.from, nonce: '0x1', yParity: '0x1', r: '0x5', s: '0x6' },
    ])
  })
})
