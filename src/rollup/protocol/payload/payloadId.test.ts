import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { fromHex, type Hex } from '../../../lib/hex.ts'
import type { PayloadAttributes } from '../types.ts'
import { payloadId } from './payloadId.ts'

const PARENT = '0x3533bf30edaf9505d0810bf475cbe4e5f4b9889904b9845e83efdeab4e92eb1e'
const DEPOSIT =
  '0x7ef8f8a0dc19cfa777d90980e4875d0a548a881baaa3f83f14d1bc0d3038bc329350e54194deaddeaddeaddeaddeaddeaddeaddeaddead00019442000000000000000000000000000000000000158080830f424080b8a4440a5e20000f424000000000000000000000000300000000670d6d890000000000000125000000000000000000000000000000000000000000000000000000000000000700000000000000000000000000000000000000000000000000000000000000014bf9181db6e381d4384bbf69c48b0ee0eed23c6ca26143c6d2544f9d39997a590000000000000000000000007f83d659683caf2767fd3c720981d51f5bc365bc'
const ECOTONE: PayloadAttributes = {
  timestamp: 1_728_933_301,
  prevRandao: '0x9158595abbdab2c90635087619aa7042bbebe47642dfab3c9bfb934f6b082765',
  suggestedFeeRecipient: '0x4200000000000000000000000000000000000011',
  withdrawals: [],
  parentBeaconBlockRoot: '0x8fe0193b9bf83cb7e5a08538e494fecc23046aab9a497af3704f4afdae3250ff',
  transactions: [fromHex(DEPOSIT)],
  noTxPool: false,
  gasLimit: 30_000_000n,
}
/** The attributes up to the withdrawals. */
const HEAD = [PARENT, '670d6db5', ECOTONE.prevRandao, ECOTONE.suggestedFeeRecipient].map(padTo8)
const GAS_LIMIT = '0000000001c9c380'

function padTo8(hex: string): string {
  return hex.replace('0x', '').padStart(16, '0')
}

/** The first 8 bytes of the hash of these parts. The version replaces the first byte. */
function idOf(version: number, ...parts: string[]): Hex {
  const hash = createHash('sha256')
    .update([...HEAD, ...parts].join(''), 'hex')
    .digest('hex')
  return `0x0${version}${hash.slice(2, 16)}`
}

describe('payload ids', () => {
  it("equal op-geth's", () => {
    expect(payloadId(PARENT, ECOTONE, 3)).toBe('0x03d2dae446d2a86a')
  })

  it('include withdrawals, and omit missing attributes', () => {
    const { parentBeaconBlockRoot: _, ...canyon } = { ...ECOTONE, transactions: [] }
    expect(payloadId(PARENT, canyon, 2)).toBe(idOf(2, 'c0', GAS_LIMIT))
    const { withdrawals: __, ...bedrock } = canyon
    expect(payloadId(PARENT, bedrock, 1)).toBe(idOf(1, 'c0', GAS_LIMIT))
    const withdrawal = { index: 1n, validatorIndex: 2n, address: `0x${'11'.repeat(20)}`, amount: 3n } as const
    expect(payloadId(PARENT, { ...canyon, withdrawals: [withdrawal] }, 2)).toBe(
      idOf(2, `d9d8010294${'11'.repeat(20)}03`, GAS_LIMIT),
    )
  })

  it('include the transactions if there are any, or if no others are allowed', () => {
    const root = padTo8('8fe0193b9bf83cb7e5a08538e494fecc23046aab9a497af3704f4afdae3250ff')
    const alone = { ...ECOTONE, transactions: [], noTxPool: true }
    expect(payloadId(PARENT, alone, 3)).toBe(idOf(3, 'c0', root, '01', padTo8('0'), GAS_LIMIT))
    const hash = 'c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'
    expect(payloadId(PARENT, { ...ECOTONE, transactions: [EMPTY_BYTES, EMPTY_BYTES] }, 3)).toBe(
      idOf(3, 'c0', root, '00', padTo8('2'), hash, hash, GAS_LIMIT),
    )
  })

  it('include the fee parameters of Holocene and Jovian', () => {
    const root = '8fe0193b9bf83cb7e5a08538e494fecc23046aab9a497af3704f4afdae3250ff'
    const holocene = { ...ECOTONE, transactions: [], eip1559Params: '0x000000fa00000006' as const }
    expect(payloadId(PARENT, holocene, 3)).toBe(idOf(3, 'c0', root, GAS_LIMIT, '000000fa00000006'))
    expect(payloadId(PARENT, { ...holocene, minBaseFee: 7n }, 3)).toBe(
      idOf(3, 'c0', root, GAS_LIMIT, '000000fa00000006', padTo8('7')),
    )
  })
})
