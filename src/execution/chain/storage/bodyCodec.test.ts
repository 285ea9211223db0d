import { describe, expect, it } from 'vitest'
import { encodeRlp } from '../../../lib/rlp.ts'
import { decodeTransaction } from '../../../rollup/protocol/index.ts'
import { encodePostExecTx } from '../../../rollup/protocol/transaction/postExec.ts'
import { isSigned } from '../../primitives/block.ts'
import { deposit } from '../../testUtils/memoryBlock.ts'
import { signTransaction, testKey } from '../../testUtils/signTransaction.ts'
import { decodeBody, encodeBody } from './bodyCodec.ts'

const signed = [1, 2, 3].map((index) => signTransaction(testKey(index)))
const refunds = [{ index: 1, gasRefund: 5n }]
const postExec = decodeTransaction(encodePostExecTx({ version: 1, blockNumber: 7, refunds }))
const block = [deposit(), ...signed.slice(0, 2), deposit(), ...signed.slice(2), postExec]

describe('a stored body', () => {
  it('decodes to the transactions with their senders', () => {
    expect(decodeBody(encodeBody(block))).toEqual(block)
    expect(decodeBody(encodeBody([]))).toEqual([])
  })

  it('uses the stored senders, and recovers no sender', () => {
    const others = block.map((tx) => (!isSigned(tx) ? tx : { ...tx, from: `0x${'12'.repeat(20)}` as const }))
    expect(decodeBody(encodeBody(others))).toEqual(others)
  })

  it('without signed transactions is the list of its deposits alone', () => {
    expect(encodeBody([deposit()])).toEqual(encodeRlp([deposit().raw]))
  })

  it('without senders can be read', () => {
    expect(decodeBody(encodeRlp(block.map(({ raw }) => raw)))).toEqual(block)
  })
})
