import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { toHex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { encodeDepositTx } from '../transaction/deposit.ts'
import { upgradeSourceHash } from '../transaction/sourceHash.ts'
import { findUpgradeBundle, readUpgradeBundle, upgradeBundleToJson } from './upgradeBundle.ts'
import { upgradeDepositsOf } from './upgradeTxs.ts'

const PUBLISHED = {
  metadata: { version: '1.0.0' },
  transactions: ['Deploy A', 'Upgrade'].map((intent, index) => ({
    intent,
    from: '0xDeaDDEaDDeAdDeAdDEAdDEaddeAddEAdDEAd0001',
    to: '0x420000000000000000000000000000000000002C',
    data: `0x0${index}ff`,
    gasLimit: 40_000 + index,
  })),
}
const DEPOSITS = PUBLISHED.transactions.map(({ gasLimit }, index) => ({
  sourceHash: upgradeSourceHash(index === 0 ? 'Interop 0: Deploy A' : 'Interop 1: Upgrade'),
  from: `0x${'dead'.repeat(9)}0001` as const,
  to: '0x420000000000000000000000000000000000002c' as const,
  ...{ mint: 0n, value: 0n, isSystemTx: false, gas: BigInt(gasLimit), data: Uint8Array.of(index, 0xff) },
}))
const ENCODED = DEPOSITS.map(encodeDepositTx)
const PIN = {
  ...({ fork: 'lagoon', intents: 'Interop' } as const),
  ...{
    digest: keccak256Hex(concatBytes(...ENCODED)),
    gas: 80_001n,
    lastHash: keccak256Hex(ENCODED.at(-1) ?? new Uint8Array(0)),
  },
}

describe('an upgrade bundle', () => {
  it('creates deposits with source hashes of fork, position and intent', () => {
    expect(readUpgradeBundle(PUBLISHED, [PIN])).toEqual({ pin: PIN, deposits: DEPOSITS })
  })

  it('is identified by its content', () => {
    const other = { ...PIN, digest: keccak256Hex(new Uint8Array(0)) }
    expect(readUpgradeBundle(PUBLISHED, [other, PIN]).pin).toBe(PIN)
  })

  it.each([
    ['a changed gas limit', { gasLimit: 40_002 }],
    ['a changed sender', { from: `0x${'11'.repeat(20)}` }],
    ['a changed recipient', { to: `0x${'11'.repeat(20)}` }],
    ['changed data', { data: '0x01fe' }],
    ['another intent', { intent: 'Upgrade!' }],
  ])('is refused with %s', (_, change) => {
    const [first, second] = PUBLISHED.transactions
    const json = { transactions: [first, { ...second, ...change }] }
    expect(() => readUpgradeBundle(json, [PIN])).toThrow(errorWith('decode', 2, 'lagoon'))
  })

  it.each([
    ['no object', 5, 'upgrade bundle'],
    ['no transactions', {}, 'upgrade bundle.transactions:'],
    ['a transaction without data', { transactions: [{ ...PUBLISHED.transactions[0], data: null }] }, '[0].data:'],
    ['gas as text', { transactions: [{ ...PUBLISHED.transactions[0], gasLimit: '1' }] }, '[0].gasLimit:'],
  ])('names the problem of %s', (_, json, named) => {
    expect(() => readUpgradeBundle(json, [PIN])).toThrow(errorWith('decode', named))
  })

  it('is found among the deposits of a block, and can be written', () => {
    const others = upgradeDepositsOf('jovian').map(encodeDepositTx)
    const block = [...others, ...ENCODED, ...others.slice(0, 1), Uint8Array.of(2, 0xc0)]
    const found = findUpgradeBundle(block, [PIN])
    expect(found).toEqual({ pin: PIN, deposits: DEPOSITS })
    if (found === undefined) return
    const json = JSON.parse(JSON.stringify(upgradeBundleToJson(found)))
    expect(readUpgradeBundle(json, [PIN])).toEqual(found)
    expect(json.transactions[1].data).toBe(toHex(Uint8Array.of(1, 0xff)))
  })

  it('is not found if a deposit differs or is elsewhere', () => {
    expect(findUpgradeBundle(ENCODED.toReversed(), [PIN])).toBeUndefined()
    expect(findUpgradeBundle(ENCODED.slice(1), [PIN])).toBeUndefined()
    expect(findUpgradeBundle([], [PIN])).toBeUndefined()
  })
})
