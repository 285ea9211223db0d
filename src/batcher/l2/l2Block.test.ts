import { keccak256, toHex as viemHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { toHex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { encodePostExecTx } from '../../rollup/protocol/index.ts'
import { batcherBlocks, batchTransactions, loadRecordedChain } from '../testUtils/recordedChain.ts'
import { batcherBlockFromJson, batchTransaction } from './l2Block.ts'

const chains = (['granite-singular-zlib-calldata', 'holocene-span-brotli-calldata'] as const).map(loadRecordedChain)

describe('batchTransaction', () => {
  it('encodes every transaction of the recorded chains as the execution client does', () => {
    let count = 0
    for (const { blocks, rawTransactions } of chains) {
      blocks.forEach((block, number) => {
        block.transactions.forEach((tx, index) => {
          const raw = rawTransactions[number]?.[index]
          if (raw === null || raw === undefined) return
          expect(toHex(batchTransaction(tx))).toBe(raw)
          count++
        })
      })
    }
    expect(count).toBe(1085)
  })

  it('encodes set-code transactions (EIP-7702)', async () => {
    const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
    const authorization = await account.signAuthorization({
      chainId: 901,
      nonce: 0,
      contractAddress: `0x${'22'.repeat(20)}`,
    })
    const raw = await account.signTransaction({
      type: 'eip7702',
      chainId: 901,
      nonce: 5,
      gas: 100_000n,
      maxFeePerGas: 10n,
      maxPriorityFeePerGas: 1n,
      to: `0x${'33'.repeat(20)}`,
      data: '0x1234',
      authorizationList: [authorization],
      accessList: [{ address: `0x${'44'.repeat(20)}`, storageKeys: [`0x${'55'.repeat(32)}`] }],
    })
    const { parseTransaction } = await import('viem')
    const parsed = parseTransaction(raw)
    const number = (value: number | bigint | undefined) => viemHex(value ?? 0)
    const json = {
      type: '0x4',
      hash: keccak256(raw),
      chainId: number(parsed.chainId),
      nonce: number(parsed.nonce),
      gas: number(parsed.gas),
      maxFeePerGas: number(parsed.maxFeePerGas),
      maxPriorityFeePerGas: number(parsed.maxPriorityFeePerGas),
      to: parsed.to,
      value: '0x0',
      input: parsed.data,
      accessList: parsed.accessList,
      authorizationList: [
        {
          chainId: number(authorization.chainId),
          address: authorization.address,
          nonce: number(authorization.nonce),
          yParity: number(authorization.yParity ?? 0),
          r: authorization.r,
          s: authorization.s,
        },
      ],
      yParity: number(parsed.yParity),
      v: number(parsed.yParity),
      r: parsed.r,
      s: parsed.s,
    }
    expect(toHex(batchTransaction(json))).toBe(raw)
  })

  it('takes the input of a post-exec transaction', () => {
    const raw = encodePostExecTx({ version: 1, blockNumber: 4, refunds: [{ index: 1, gasRefund: 2000n }] })
    const json = { type: '0x7d', hash: keccak256(raw), input: toHex(raw.subarray(1)) }
    expect(toHex(batchTransaction(json))).toBe(toHex(raw))
    const more = { from: `0x${'00'.repeat(20)}`, gas: '0x0', value: '0x0', blockNumber: '0x4', transactionIndex: '0x2' }
    expect(toHex(batchTransaction({ ...json, ...more }))).toBe(toHex(raw))
    expect(() => batchTransaction({ ...json, input: '0xc20104' })).toThrow(errorWith('decode', json.hash))
    expect(() => batchTransaction({ ...json, input: undefined })).toThrow(errorWith('decode', 'input'))
  })

  const [first] = chains
  const tx = first?.blocks[4]?.transactions[1] ?? {}
  it.each([
    { id: 'a changed field', json: { ...tx, value: '0x2' }, named: ['transaction', String(tx.hash)] },
    { id: 'a missing field', json: { ...tx, nonce: undefined }, named: ['nonce'] },
    { id: 'a blob transaction', json: { ...tx, type: '0x3' }, named: ['type', 3] },
    { id: 'a deposit', json: { ...tx, type: '0x7e' }, named: ['type', 126] },
    { id: 'no object', json: 'x', named: ['transaction'] },
  ])('refuses $id', ({ json, named }) => {
    expect(() => batchTransaction(json)).toThrow(errorWith('decode', ...named))
  })
})

describe('batcherBlockFromJson', () => {
  it('reads position, L1 origin and transactions of the recorded blocks', async () => {
    for (const chain of chains) {
      for (const block of await batcherBlocks(chain)) {
        const json = chain.blocks[block.number]
        expect(block).toMatchObject({ hash: json?.hash, parentHash: json?.parentHash })
        expect(block.transactions).toEqual(batchTransactions(chain, block.number))
        const size = block.transactions.reduce((sum, transaction) => sum + transaction.length, 0)
        expect(block.rawSizeBytes).toBe(70 + size + 2 * block.transactions.length)
        expect(block.estimatedDaBytes).toBeGreaterThanOrEqual(70 + 100 * block.transactions.length)
      }
    }
  })

  const json = chains[0]?.blocks[4] ?? { hash: undefined, transactions: [] }
  it.each([
    { id: 'no transactions', json: { ...json, transactions: [] }, named: String(json.hash) },
    {
      id: 'no deposit first',
      json: { ...json, transactions: json.transactions.slice(1) },
      named: 'first transaction',
    },
    { id: 'hashes only', json: { ...json, transactions: ['0x00'] }, named: 'first transaction' },
  ])('refuses a block with $id', async ({ json: block, named }) => {
    await expect(batcherBlockFromJson(block)).rejects.toThrow(errorWith('decode', named))
  })
})
