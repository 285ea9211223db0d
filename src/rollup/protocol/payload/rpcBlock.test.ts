import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { serializeTransaction } from 'viem'
import { describe, expect, it } from 'vitest'
import { toHex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import {
  isForkActive,
  parseRollupConfig,
  payloadBlockHash,
  payloadToL2BlockRef,
  transactionFromJson,
} from '../index.ts'
import { payloadFromRpcBlock } from './rpcBlock.ts'

interface Recording {
  rollup: unknown
  l2: { hash: string; number: string; transactions: unknown[] }[]
  l2RawTransactions: (string | null)[][]
}

function load(name: string): Recording {
  const url = new URL(`../../../../test/vectors/data/op-node-${name}.json.gz`, import.meta.url)
  return JSON.parse(gunzipSync(readFileSync(url)).toString())
}

describe.each(['granite-singular-zlib-calldata', 'granite-span-zlib-blobs', 'holocene-span-brotli-calldata'])(
  'blocks of op-geth: %s',
  (name) => {
    const { rollup, l2, l2RawTransactions } = load(name)
    const config = parseRollupConfig(rollup)

    it('become payloads with the correct block hash', () => {
      for (const block of l2) {
        const envelope = payloadFromRpcBlock(block, (timestamp) => isForkActive(config, 'isthmus', timestamp))
        // The hash covers the transactions root, so every transaction, including deposits, has its exact bytes.
        expect(payloadBlockHash(envelope)).toBe(block.hash)
        expect(payloadToL2BlockRef(envelope.payload, config).hash).toBe(block.hash)
      }
      expect(l2.length).toBeGreaterThan(20)
    })

    it('contain the recorded raw transactions', () => {
      let compared = 0
      for (const [index, block] of l2.entries()) {
        for (const [position, transaction] of block.transactions.entries()) {
          const raw = l2RawTransactions[index]?.[position]
          if (raw === null || raw === undefined) continue
          expect(toHex(transactionFromJson(transaction))).toBe(raw)
          compared++
        }
      }
      expect(compared).toBeGreaterThan(5)
    })
  },
)

describe('transactionFromJson', () => {
  const address = `0x${'aa'.repeat(20)}` as const
  const key = `0x${'01'.repeat(32)}` as const
  const r = `0x${'03'.repeat(32)}` as const
  const s = `0x${'04'.repeat(32)}` as const
  const base = {
    chainId: '0x1',
    nonce: '0x2',
    gas: '0x5208',
    to: address,
    value: '0x9',
    input: '0xcafe',
    accessList: [{ address, storageKeys: [key] }],
    yParity: '0x1',
    r,
    s,
  }
  const common = { chainId: 1, nonce: 2, gas: 21000n, to: address, value: 9n, data: '0xcafe' } as const
  const accessList = [{ address, storageKeys: [key] }]
  const signature = { r, s, yParity: 1 }

  it('encodes typed transactions like viem', () => {
    expect(toHex(transactionFromJson({ ...base, type: '0x1', gasPrice: '0x7' }))).toBe(
      serializeTransaction({ ...common, type: 'eip2930', gasPrice: 7n, accessList }, signature),
    )
    const fees = { maxPriorityFeePerGas: '0x0', maxFeePerGas: '0x5' }
    const viemFees = { maxPriorityFeePerGas: 0n, maxFeePerGas: 5n }
    expect(toHex(transactionFromJson({ ...base, ...fees, type: '0x2' }))).toBe(
      serializeTransaction({ ...common, ...viemFees, type: 'eip1559', accessList }, signature),
    )
    const authorization = { chainId: '0x1', address, nonce: '0x0', yParity: '0x0', r: s, s: r }
    const authorizationList = [{ chainId: 1, address, nonce: 0, yParity: 0, r: s, s: r }]
    expect(toHex(transactionFromJson({ ...base, ...fees, type: '0x4', authorizationList: [authorization] }))).toBe(
      serializeTransaction({ ...common, ...viemFees, type: 'eip7702', accessList, authorizationList }, signature),
    )
  })

  it('uses only the input of a post-exec transaction', () => {
    const json = { type: '0x7d', hash: key, from: `0x${'00'.repeat(20)}`, gas: '0x0', value: '0x0', input: '0xc20105' }
    expect(toHex(transactionFromJson(json))).toBe('0x7dc20105')
    expect(() => transactionFromJson({ ...json, input: undefined })).toThrow(errorWith('decode', 'input'))
  })

  it('refuses an unknown type', () => {
    expect(() => transactionFromJson({ type: '0x55' })).toThrow(errorWith('decode', 85))
  })
})
