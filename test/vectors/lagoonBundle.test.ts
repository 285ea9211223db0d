import { existsSync, readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { keccak256Hex } from '../../src/lib/hash.ts'
import { fromHex, type Hex } from '../../src/lib/hex.ts'
import {
  BUNDLE_PINS,
  encodeDepositTx,
  findUpgradeBundle,
  readUpgradeBundle,
  upgradeDeposits,
} from '../../src/rollup/protocol/index.ts'
import { testConfig } from '../../src/rollup/protocol/testUtils/config.ts'
import { roles } from '../../testnet/accounts.ts'
import { ArtifactStore, findContractsPackage } from '../../testnet/contracts/artifact.ts'
import { forksAtGenesis } from '../../testnet/forks.ts'
import { buildL2Genesis } from '../../testnet/genesis/l2Genesis.ts'
import { predeployAddress } from '../../testnet/genesis/predeploys.ts'
import { upgradedAlloc } from '../../testnet/genesis/upgradedAlloc.ts'
import { l1Addresses } from '../../testnet/l1/contracts.ts'

// The published bundle is read where it lies: it is not part of the project.
const file = new URL('../../../shared/vectors/lagoon-nut-bundle.json.gz', import.meta.url)

const isThere = existsSync(file)
const read = () => readUpgradeBundle(JSON.parse(gunzipSync(readFileSync(file)).toString()))
/** ERC-1967: the implementation of a proxy. */
const IMPLEMENTATION_SLOT = '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc'
/** Low bytes of CrossL2Inbox, L2ToL2CrossDomainMessenger, SuperchainETHBridge, ETHLiquidity, UndeliveredMessageExporter. */
const OF_INTEROP = [0x22, 0x23, 0x24, 0x25, 0x30]
const ETH_LIQUIDITY = predeployAddress(0x25)

/** L2DevFeatureFlags, and where its bits stand: keccak256("l2devfeatureflags.bitmap") − 1. The first bit is that of interop. */
const FEATURE_FLAGS = predeployAddress(0x2d)
const BITMAP_SLOT = '0xc8bc8f9195cfb2d040744aac63412d02ffc186ea9bd519039edc4666ee9032bc'
const INTEROP_BIT: Hex = `0x${'1'.padStart(64, '0')}`

/** A genesis state of Karst after the deposits of Lagoon's activation block. */
async function stateAfter(dependencySet: bigint[]) {
  const config = { ...testConfig({ karst: 0, lagoon: 1_700_000_010 }), dependencySet, lagoonBundle: read().deposits }
  const forks = forksAtGenesis('karst')
  const chain = { l1ChainId: 900, l2ChainId: 901, blockTime: 2, l1BlockTime: 2, genesisTime: 1_700_000_000, forks }
  const store = new ArtifactStore(findContractsPackage())
  const genesis = await buildL2Genesis(store, chain, l1Addresses(roles.owner.address))
  const { alloc } = genesis.file
  const flags = alloc[FEATURE_FLAGS]
  if (flags === undefined) throw new Error('the genesis state lacks L2DevFeatureFlags')
  // Set on every chain that is to join others: without it the upgrade of such a chain reverts.
  alloc[FEATURE_FLAGS] = { ...flags, storage: { ...flags.storage, [BITMAP_SLOT]: INTEROP_BIT } }
  return upgradedAlloc(alloc, upgradeDeposits(config, 1_700_000_010), {
    ...{ chainConfig: genesis.file.config, timestamp: 1_700_000_010 },
  })
}

describe("Lagoon's published upgrade bundle", () => {
  it.runIf(isThere)('has the pinned hash (skipped without ../shared/vectors)', () => {
    const { pin, deposits } = read()
    expect(pin).toBe(BUNDLE_PINS.lagoon)
    expect(deposits).toHaveLength(29)
    expect(deposits.reduce((sum, { gas }) => sum + gas, 0n)).toBe(64_827_394n)
    expect(findUpgradeBundle(deposits.map(encodeDepositTx))).toEqual({ pin, deposits })
    const last = deposits.at(-1)
    expect(last).toMatchObject({ to: '0x4200000000000000000000000000000000000018', gas: 4_000_000n })
    if (last !== undefined) expect(keccak256Hex(encodeDepositTx(last))).toBe(pin.lastHash)
    expect(last?.data.subarray(0, 4)).toEqual(fromHex('0x7c36f37e'))
  })

  // Every deposit must succeed, the two around the bundle as well: their calls are not part of it.
  it.runIf(isThere)(
    'deploys the interop contracts with their ether on a chain with a dependency set (skipped without ../shared/vectors)',
    async () => {
      const [alone, together] = [await stateAfter([901n]), await stateAfter([901n, 902n])]
      const pointsTo = (state: typeof alone, low: number) =>
        state[predeployAddress(low)]?.storage?.[IMPLEMENTATION_SLOT]?.slice(-40)
      for (const low of OF_INTEROP) {
        expect(together[`0x${pointsTo(together, low)}`]?.code?.length, low.toString(16)).toBeGreaterThan(100)
        expect(pointsTo(alone, low)).not.toBe(pointsTo(together, low))
      }
      const ether = (state: typeof alone) => BigInt(state[ETH_LIQUIDITY]?.balance ?? '0x0')
      expect([ether(alone), ether(together)]).toEqual([0n, 2n ** 128n - 1n])
    },
  )
})
