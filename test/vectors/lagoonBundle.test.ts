import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { fromHex } from '../../src/lib/hex.ts'
import { BUNDLE_PINS, encodeDepositTx, findUpgradeBundle, readUpgradeBundle } from '../../src/rollup/protocol/index.ts'

// The published bundle is read where it lies: it is not part of the project.
const file = new URL('../../../shared/vectors/lagoon-nut-bundle.json.gz', import.meta.url)

describe("Lagoon's published upgrade bundle", () => {
  it.runIf(existsSync(file))('is the pinned one (skipped without ../shared/vectors)', () => {
    const json: unknown = JSON.parse(gunzipSync(readFileSync(file)).toString())
    const { pin, deposits } = readUpgradeBundle(json)
    expect(pin).toBe(BUNDLE_PINS.lagoon)
    expect(deposits).toHaveLength(29)
    expect(deposits.reduce((sum, { gas }) => sum + gas, 0n)).toBe(64_827_394n)
    expect(findUpgradeBundle(deposits.map(encodeDepositTx))).toEqual({ pin, deposits })
    const last = deposits.at(-1)
    expect(last).toMatchObject({ to: '0x4200000000000000000000000000000000000018', gas: 4_000_000n })
    expect(last?.data.subarray(0, 4)).toEqual(fromHex('0x7c36f37e'))
  })
})
