import { describe, expect, it } from 'vitest'
import { l1InfoDepositTx } from '../l1/l1Info.ts'
import { testConfig } from '../testUtils/config.ts'
import { EMPTY_PAYLOAD } from '../testUtils/payload.ts'
import { encodeDepositTx } from '../transaction/deposit.ts'
import { type ExecutionPayload, type Withdrawal, ZERO_HASH } from '../types.ts'
import { blockHeaderHash } from './blockHeader.ts'
import { payloadBlockHash, payloadToHeader, payloadToL2BlockRef } from './payload.ts'

const CANYON: ExecutionPayload = { ...EMPTY_PAYLOAD, withdrawals: [] }

it('hashes withdrawals until Isthmus like EthereumJS', () => {
  const withdrawals: Withdrawal[] = [
    { index: 1n, validatorIndex: 2n, address: `0x${'11'.repeat(20)}`, amount: 3n },
    { index: 2n, validatorIndex: 70_000n, address: `0x${'22'.repeat(20)}`, amount: 32_000_000_000n },
  ]
  const rootOf = (changes: Partial<ExecutionPayload>) =>
    payloadToHeader({ payload: { ...CANYON, ...changes } }).withdrawalsRoot
  expect(rootOf({})).toBe('0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421')
  expect(rootOf({ withdrawals })).toBe('0x38258c434023144a67c7442ff3f53cc53c7d5a162dc05c312031bc62b868edce')
  const withdrawalsRoot = `0x${'33'.repeat(32)}` as const
  expect(rootOf({ withdrawals, withdrawalsRoot })).toBe(withdrawalsRoot)
})

describe('the header of a payload', () => {
  const ECOTONE: ExecutionPayload = { ...CANYON, blobGasUsed: 5n, excessBlobGas: 6n }
  const parentBeaconBlockRoot = `0x${'44'.repeat(32)}` as const
  const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
  const bedrock = payloadToHeader({ payload: EMPTY_PAYLOAD })

  it('has the members of its fork, and no others', () => {
    expect(bedrock).toStrictEqual({
      parentHash: EMPTY_PAYLOAD.parentHash,
      unclesHash: '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347',
      coinbase: EMPTY_PAYLOAD.feeRecipient,
      stateRoot: EMPTY_PAYLOAD.stateRoot,
      transactionsRoot: EMPTY_ROOT,
      receiptsRoot: EMPTY_PAYLOAD.receiptsRoot,
      logsBloom: EMPTY_PAYLOAD.logsBloom,
      difficulty: 0n,
      number: 1,
      gasLimit: 1n,
      gasUsed: 0n,
      timestamp: 1,
      extraData: '0x',
      mixHash: EMPTY_PAYLOAD.prevRandao,
      nonce: '0x0000000000000000',
      baseFeePerGas: 1n,
    })
    const canyon = { ...bedrock, withdrawalsRoot: EMPTY_ROOT }
    expect(payloadToHeader({ payload: CANYON })).toStrictEqual(canyon)
    const ecotone = { ...canyon, blobGasUsed: 5n, excessBlobGas: 6n, parentBeaconBlockRoot }
    expect(payloadToHeader({ payload: ECOTONE, parentBeaconBlockRoot })).toStrictEqual(ecotone)
    expect(
      payloadToHeader({ payload: { ...ECOTONE, withdrawalsRoot: ZERO_HASH }, parentBeaconBlockRoot }),
    ).toStrictEqual({
      ...ecotone,
      withdrawalsRoot: ZERO_HASH,
      requestsHash: '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    })
  })

  it('uses the transactions root of the caller', () => {
    const transactionsRoot = `0x${'55'.repeat(32)}` as const
    expect(payloadToHeader({ payload: EMPTY_PAYLOAD }, { transactionsRoot }).transactionsRoot).toBe(transactionsRoot)
    const expected = blockHeaderHash({ ...bedrock, transactionsRoot })
    expect(payloadBlockHash({ payload: EMPTY_PAYLOAD }, { transactionsRoot })).toBe(expected)
    expect(payloadBlockHash({ payload: EMPTY_PAYLOAD })).toBe(blockHeaderHash(bedrock))
  })
})

describe('the reference to a payload', () => {
  const config = testConfig({ ecotone: 0 })
  const { l1, l2, systemConfig } = config.genesis
  const l1Block = {
    hash: `0x${'66'.repeat(32)}`,
    number: 77,
    parentHash: ZERO_HASH,
    timestamp: 1,
    mixHash: ZERO_HASH,
    baseFeePerGas: 1n,
  } as const
  const deposit = encodeDepositTx(l1InfoDepositTx(config, systemConfig, 3, l1Block, 1_700_000_002))
  const ownRef = { hash: ZERO_HASH, number: 1, parentHash: ZERO_HASH, timestamp: 1 }

  it('has the origin of its first deposit', () => {
    expect(payloadToL2BlockRef({ ...EMPTY_PAYLOAD, transactions: [deposit] }, config)).toEqual({
      ...ownRef,
      l1Origin: { hash: l1Block.hash, number: 77 },
      sequenceNumber: 3,
    })
    expect(() => payloadToL2BlockRef(EMPTY_PAYLOAD, config)).toThrow()
  })

  it('comes from the rollup config for the genesis block, which is identified by number and hash', () => {
    const genesis = { ...EMPTY_PAYLOAD, blockNumber: l2.number, blockHash: l2.hash }
    const ref = payloadToL2BlockRef(genesis, config)
    expect(ref).toEqual({ ...ownRef, hash: l2.hash, number: l2.number, l1Origin: l1, sequenceNumber: 0 })
    expect(ref.l1Origin).not.toBe(l1)
    expect(() => payloadToL2BlockRef({ ...genesis, blockHash: ZERO_HASH }, config)).toThrow()
    expect(() => payloadToL2BlockRef({ ...genesis, blockNumber: 1 }, config)).toThrow()
  })
})
