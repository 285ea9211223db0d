import { describe, expect, it } from 'vitest'
import {
  type ExecutionPayload,
  type PayloadAttributes,
  type PayloadEnvelope,
  type RollupConfig,
  ZERO_HASH,
} from '../protocol/types.ts'
import { findMismatch } from './matchAttributes.ts'
import { fakeGenesis } from './testUtils/fakeEngine.ts'

const PARENT = `0x${'aa'.repeat(32)}` as const
const ROOT = `0x${'bb'.repeat(32)}` as const
const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'

/** Canyon at 100, Holocene at 200, Isthmus at 300, Jovian at 400. */
const FORKS = {
  regolith: 0,
  canyon: 100,
  delta: 100,
  ecotone: 150,
  fjord: 150,
  granite: 150,
  holocene: 200,
  isthmus: 300,
  jovian: 400,
}
const CONFIG: RollupConfig = {
  genesis: {
    l1: { hash: ROOT, number: 0 },
    l2: { hash: ROOT, number: 0 },
    l2Time: 0,
    systemConfig: { batcherAddress: '0x', overhead: '0x', scalar: '0x', gasLimit: 1n },
  },
  blockTime: 1,
  maxSequencerDrift: 600,
  seqWindowSize: 10,
  channelTimeout: 10,
  l1ChainId: 1n,
  l2ChainId: 2n,
  forks: FORKS,
  batchInboxAddress: '0x',
  depositContractAddress: '0x',
  l1SystemConfigAddress: '0x',
}

function attributesAt(timestamp: number): PayloadAttributes {
  return {
    timestamp,
    prevRandao: ROOT,
    suggestedFeeRecipient: `0x${'42'.repeat(20)}`,
    transactions: [Uint8Array.of(0x7e, 1), Uint8Array.of(2, 2)],
    noTxPool: true,
    gasLimit: 30_000_000n,
    ...(timestamp >= 100 ? { withdrawals: [] } : {}),
    ...(timestamp >= 150 ? { parentBeaconBlockRoot: ZERO_HASH } : {}),
    ...(timestamp >= 200 ? { eip1559Params: '0x0000000000000000' as const } : {}),
    ...(timestamp >= 400 ? { minBaseFee: 5n } : {}),
  }
}

/** The block that these attributes give. */
function blockAt(timestamp: number): PayloadEnvelope {
  const attributes = attributesAt(timestamp)
  const {
    withdrawals: _,
    blobGasUsed: __,
    excessBlobGas: ___,
    ...base
  } = fakeGenesis(timestamp, attributes.gasLimit).payload
  const payload: ExecutionPayload = {
    ...base,
    parentHash: PARENT,
    prevRandao: attributes.prevRandao,
    feeRecipient: attributes.suggestedFeeRecipient,
    transactions: attributes.transactions.map((bytes) => bytes.slice()),
    extraData:
      timestamp >= 400 ? '0x01000000fa000000060000000000000005' : timestamp >= 200 ? '0x00000000fa00000006' : '0x',
    ...(timestamp >= 100 ? { withdrawals: [] } : {}),
    ...(timestamp >= 300 ? { withdrawalsRoot: ROOT } : {}),
  }
  return { payload, ...(timestamp >= 150 ? { parentBeaconBlockRoot: ZERO_HASH } : {}) }
}

function check(
  timestamp: number,
  change: Partial<ExecutionPayload> = {},
  attributes: Partial<PayloadAttributes> = {},
): string | undefined {
  const { payload, ...rest } = blockAt(timestamp)
  return findMismatch(
    { ...attributesAt(timestamp), ...attributes },
    PARENT,
    { ...rest, payload: { ...payload, ...change } },
    CONFIG,
  )
}

describe('findMismatch', () => {
  it.each([50, 120, 160, 250, 350, 450])(
    'finds no mismatch in a block built from its own attributes at %i',
    (timestamp) => {
      expect(check(timestamp)).toBeUndefined()
    },
  )

  it.each<[string, number, Partial<ExecutionPayload>, string]>([
    ['parent', 250, { parentHash: ROOT }, 'parent hash'],
    ['time', 250, { timestamp: 251 }, 'timestamp'],
    ['randao', 250, { prevRandao: PARENT }, 'prevRandao'],
    ['fee recipient', 250, { feeRecipient: `0x${'43'.repeat(20)}` }, 'fee recipient'],
    ['gas limit', 250, { gasLimit: 1n }, 'gas limit'],
    [
      'one transaction more',
      250,
      { transactions: [...attributesAt(250).transactions, Uint8Array.of(2)] },
      'block has 3, expected 2',
    ],
    [
      'another transaction',
      250,
      { transactions: [Uint8Array.of(0x7e, 1), Uint8Array.of(2, 3)] },
      'transaction 1 differs',
    ],
    ['withdrawals before Canyon', 50, { withdrawals: [] }, 'withdrawals before Canyon'],
    ['a withdrawal', 120, { withdrawals: [{ index: 0n, validatorIndex: 0n, address: '0x', amount: 1n }] }, 'not empty'],
    ['a storage root before Isthmus', 250, { withdrawalsRoot: ROOT }, 'before Isthmus'],
    ['extra data before Holocene', 160, { extraData: '0x01' }, 'extra data'],
    [
      'extra data of Jovian before it',
      250,
      { extraData: '0x01000000fa000000060000000000000005' },
      'not in the format of this fork',
    ],
    ['other fee parameters', 250, { extraData: '0x00000000fb00000006' }, 'EIP-1559 parameters'],
    ['another minimum base fee', 450, { extraData: '0x01000000fa000000060000000000000006' }, 'minimum base fee'],
  ])('finds %s', (_name, timestamp, change, expected) => {
    expect(check(timestamp, change)).toContain(expected)
  })

  it('accepts an empty-list root before Isthmus', () => {
    expect(check(250, { withdrawalsRoot: EMPTY_ROOT })).toBeUndefined()
  })

  it('requires a storage root since Isthmus', () => {
    const { withdrawalsRoot: _, ...payload } = blockAt(350).payload
    expect(findMismatch(attributesAt(350), PARENT, { payload, parentBeaconBlockRoot: ZERO_HASH }, CONFIG)).toContain(
      'withdrawals root is missing',
    )
  })

  it('compares the beacon root, absent or not', () => {
    expect(findMismatch(attributesAt(250), PARENT, { payload: blockAt(250).payload }, CONFIG)).toContain(
      'beacon block root',
    )
    expect(
      findMismatch(attributesAt(50), PARENT, { ...blockAt(50), parentBeaconBlockRoot: ZERO_HASH }, CONFIG),
    ).toContain('beacon block root')
  })

  it('compares explicit fee parameters unchanged', () => {
    expect(check(250, { extraData: '0x000000003200000002' }, { eip1559Params: '0x0000003200000002' })).toBeUndefined()
    expect(check(250, {}, { eip1559Params: '0x0000003200000002' })).toContain('expected 0x0000003200000002')
  })

  it("treats zero parameters as the chain's Canyon constants", () => {
    const config = {
      ...CONFIG,
      chainOpConfig: { eip1559Elasticity: 10, eip1559Denominator: 50, eip1559DenominatorCanyon: 100 },
    }
    const { payload, ...rest } = blockAt(250)
    const block = { ...rest, payload: { ...payload, extraData: '0x00000000640000000a' as const } }
    expect(findMismatch(attributesAt(250), PARENT, block, config)).toBeUndefined()
  })
})
