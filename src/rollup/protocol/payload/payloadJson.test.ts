import { describe, expect, it } from 'vitest'
import { fromHex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { EMPTY_TRIE_ROOT } from '../constants.ts'
import { testConfig } from '../testUtils/config.ts'
import type { ExecutionPayload, PayloadAttributes } from '../types.ts'
import {
  attributesFromJson,
  attributesToJson,
  payloadEnvelopeFromJson,
  payloadEnvelopeToJson,
  payloadFromJson,
  payloadToJson,
} from './payloadJson.ts'

const PAYLOAD: ExecutionPayload = {
  parentHash: `0x${'01'.repeat(32)}`,
  feeRecipient: '0x4200000000000000000000000000000000000011',
  stateRoot: `0x${'02'.repeat(32)}`,
  receiptsRoot: `0x${'03'.repeat(32)}`,
  logsBloom: `0x${'00'.repeat(256)}`,
  prevRandao: `0x${'06'.repeat(32)}`,
  blockNumber: 0x1234,
  gasLimit: 30_000_000n,
  gasUsed: 0n,
  timestamp: 1_700_000_102,
  extraData: '0xaabb',
  baseFeePerGas: 2n ** 200n,
  blockHash: `0x${'08'.repeat(32)}`,
  transactions: [fromHex('0x7e0102')],
}
const ISTHMUS: ExecutionPayload = {
  ...PAYLOAD,
  withdrawals: [{ index: 1n, validatorIndex: 2n, address: `0x${'77'.repeat(20)}`, amount: 3n }],
  blobGasUsed: 5n,
  excessBlobGas: 0n,
  withdrawalsRoot: `0x${'0a'.repeat(32)}`,
}
const ATTRIBUTES: PayloadAttributes = {
  timestamp: 1_700_000_104,
  prevRandao: `0x${'06'.repeat(32)}`,
  suggestedFeeRecipient: '0x4200000000000000000000000000000000000011',
  transactions: [fromHex('0x7e0102')],
  noTxPool: true,
  gasLimit: 30_000_000n,
}

describe('Engine API JSON', () => {
  it('writes quantities without leading zeros', () => {
    expect(payloadToJson(PAYLOAD)).toMatchObject({
      blockNumber: '0x1234',
      gasUsed: '0x0',
      extraData: '0xaabb',
      transactions: ['0x7e0102'],
    })
    expect(Object.keys(payloadToJson(PAYLOAD)).toSorted()).toEqual(Object.keys(PAYLOAD).toSorted())
  })

  it('accepts extra data up to 32 bytes', () => {
    const extraData = `0x${'00'.repeat(32)}` as const
    expect(payloadFromJson({ ...payloadToJson(PAYLOAD), extraData }).extraData).toBe(extraData)
  })

  it.each([
    ['bedrock', PAYLOAD],
    ['isthmus', ISTHMUS],
  ])('a payload of %s survives writing and reading', (_, payload) => {
    expect(payloadFromJson(JSON.parse(JSON.stringify(payloadToJson(payload))))).toStrictEqual(payload)
    const envelope = { parentBeaconBlockRoot: `0x${'09'.repeat(32)}` as const, payload }
    expect(payloadEnvelopeFromJson(JSON.parse(JSON.stringify(payloadEnvelopeToJson(envelope))))).toStrictEqual(envelope)
    expect(payloadEnvelopeFromJson(payloadEnvelopeToJson({ payload }))).toStrictEqual({ payload })
    expect(payloadEnvelopeToJson({ payload })).toStrictEqual({ executionPayload: payloadToJson(payload) })
  })

  it('omits a withdrawals root that a client reports before Isthmus', () => {
    const json = { ...payloadToJson(ISTHMUS), withdrawalsRoot: EMPTY_TRIE_ROOT }
    const { withdrawalsRoot: _, ...expected } = ISTHMUS
    expect(payloadFromJson(json, testConfig({ ecotone: 0 }))).toEqual(expected)
    expect(payloadFromJson(json, testConfig({ isthmus: 0 })).withdrawalsRoot).toBe(EMPTY_TRIE_ROOT)
  })

  it.each([
    ['parentHash:', { parentHash: undefined }],
    ['transactions[0]', { transactions: ['0x7'] }],
    ['transactions[0]', { transactions: [5] }],
    ['extraData: 33', { extraData: `0x${'00'.repeat(33)}` }],
    ['blockNumber', { blockNumber: '0x20000000000001' + '0' }],
    ['gasLimit', { gasLimit: 5 }],
    ['withdrawals[0].index', { withdrawals: [{}] }],
  ])('names the invalid member %s', (member, change) => {
    const read = () => payloadFromJson({ ...payloadToJson(PAYLOAD), ...change })
    expect(read).toThrow(errorWith('decode', `executionPayload.${member}`))
  })

  it.each([
    ['bedrock', ATTRIBUTES],
    [
      'jovian',
      {
        ...ATTRIBUTES,
        withdrawals: [],
        parentBeaconBlockRoot: `0x${'09'.repeat(32)}`,
        eip1559Params: '0x000000fa00000006',
        minBaseFee: 7n,
      } satisfies PayloadAttributes,
    ],
  ])('attributes of %s survive writing and reading', (_, attributes) => {
    expect(attributesFromJson(JSON.parse(JSON.stringify(attributesToJson(attributes))))).toStrictEqual(attributes)
    const members = Object.keys(attributes).toSorted()
    expect(Object.keys(attributesToJson(attributes)).toSorted()).toEqual(members)
  })

  it('writes the minimum base fee as a number, and also reads a quantity', () => {
    const json = attributesToJson({ ...ATTRIBUTES, minBaseFee: 7n })
    expect(json.minBaseFee).toBe(7)
    expect(attributesFromJson({ ...json, minBaseFee: '0x7' }).minBaseFee).toBe(7n)
  })

  it('reads absent transactions as an empty list', () => {
    const { transactions: _, noTxPool: __, ...json } = attributesToJson(ATTRIBUTES)
    expect(attributesFromJson(json)).toMatchObject({ transactions: [], noTxPool: false })
    expect(() => attributesFromJson({ ...json, gasLimit: null })).toThrow(errorWith('decode', 'gasLimit:'))
  })
})
