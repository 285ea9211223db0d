import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { testConfig } from '../testUtils/config.ts'
import { encodeDepositTx } from '../transaction/deposit.ts'
import { upgradeSourceHash } from '../transaction/sourceHash.ts'
import { type RollupConfig, ZERO_ADDRESS } from '../types.ts'
import { bundleNeededAt } from './lagoonUpgrade.ts'
import code from './upgradeCode.generated.json' with { type: 'json' }
import { upgradeDeposits, upgradeDepositsOf, upgradeGas, upgradeGasToStrip } from './upgradeTxs.ts'

/** Selectors of setFeature(bytes32) and fund(). */
const SET_FEATURE = '46a4d780'
const FUND = '0xb60d4288'

/** Length and keccak256 of the specifications' bytecode files. */
const INIT_CODES: [keyof typeof code, number, Hex][] = [
  ['ecotoneL1Block', 1374, '0xda6828a2a6e02d9fde7d5d9947f51b207f31abf5dbb538dd968cd491164e2115'],
  ['ecotoneGasPriceOracle', 4053, '0xfd456e91d8c9714590a4f0a2c1046ba70e102f1c629ead886c4eebc3f921c3c3'],
  ['fjordGasPriceOracle', 6166, '0xb16f1e370e58c7693fd113a21a1b1e7ccebc03d4f1e5a76786fc27847ef51ead'],
  ['isthmusL1Block', 1742, '0xa1f984b8ea199574261c19122b5a9c8c7dbd3633980b1e7aaf6b7af24af60478'],
  ['isthmusGasPriceOracle', 7260, '0x38ef70b2783dd45ad807afcf57972c7df4abaaeb5d16d17cdb451b9e931a9cbb'],
  ['isthmusOperatorFeeVault', 2198, '0x3d8c0d7736e8767f2f797da1c20c5fe30bd7f48a4cf75f376290481ad7c0f91f'],
  ['jovianL1Block', 1845, '0x1f054ff228ecad7f51772dd25084469192f7a33c522b87cd46ec5558d3c46aec'],
  ['jovianGasPriceOracle', 7880, '0xf72c23d9c3775afd7b645fde429d09800622d329116feb5ff9829634655123ca'],
]

/** Source hashes listed in the specifications and, for Jovian, in op-node. */
const SOURCE_HASHES = {
  ecotone: [
    '0x877a6077205782ea15a6dc8699fa5ebcec5e0f4389f09cb8eda09488231346f8',
    '0xa312b4510adf943510f05fcc8f15f86995a5066bd83ce11384688ae20e6ecf42',
    '0x18acb38c5ff1c238a7460ebc1b421fa49ec4874bdf1e0a530d234104e5e67dbc',
    '0xee4f9385eceef498af0be7ec5862229f426dec41c8d42397c7257a5117d9230a',
    '0x0c1cb38e99dbc9cbfab3bb80863380b0905290b37eb3d6ab18dc01c1f3e75f93',
    '0x69b763c48478b9dc2f65ada09b3d92133ec592ea715ec65ad6e7f3dc519dc00c',
  ],
  fjord: [
    '0x86122c533fdcb89b16d8713174625e44578a89751d96c098ec19ab40a51a8ea3',
    '0x1e6bb0c28bfab3dc9b36ffb0f721f00d6937f33577606325692db0965a7d58c6',
    '0xbac7bb0d5961cad209a345408b0280a0d4686b1b20665e1b0f9cdafd73b19b6b',
  ],
  isthmus: [
    '0x3b2d0821ca2411ad5cd3595804d1213d15737188ae4cbd58aa19c821a6c211bf',
    '0xfc70b48424763fa3fab9844253b4f8d508f91eb1f7cb11a247c9baec0afb8035',
    '0x107a570d3db75e6110817eb024f09f3172657e920634111ce9875d08a16daa96',
    '0xebe8b5cb10ca47e0d8bda8f5355f2d66711a54ddeb0ef1d30e29418c9bf17a0e',
    '0xecf2d9161d26c54eda6b7bfdd9142719b1e1199a6e5641468d1bf705bc531ab0',
    '0xad74e1adb877ccbe176b8fa1cc559388a16e090ddbe8b512f5b37d07d887a927',
    '0x3ddf4b1302548dd92939826e970f260ba36167f4c25f18390a5e8b194b295319',
    '0xbfb734dae514c5974ddf803e54c1bc43d5cdb4a48ae27e1d9b875a5a150b553a',
  ],
  jovian: [
    '0xbb1a656f65401240fac3db12e7a79ebb954b11e62f7626eb11691539b798d3bf',
    '0xf3275f829340521028f9ad5bce4ecb1c64a45d448794effa2a77674627338e76',
    '0x239b7021a6c2cf3a918481242bbb5a9499057f24501539467536c691bb133962',
    '0xa70c60aa53b8c1c0d52b39b1e901e7d7c09f7819595cb24048a6bb1983b401ff',
    '0xe836db6a959371756f8941be3e962d000f7e12a32e49e2c9ca42ba177a92716c',
  ],
} as const

describe('upgrade transactions', () => {
  it.each(INIT_CODES)('init code %s is the published code', (name, length, hash) => {
    const bytes = fromHex(code[name])
    expect(bytes.length).toBe(length)
    expect(keccak256Hex(bytes)).toBe(hash)
  })

  it.each(['ecotone', 'fjord', 'isthmus', 'jovian'] as const)('%s has the specified source hashes in order', (fork) => {
    expect(upgradeDepositsOf(fork).map((tx) => tx.sourceHash)).toEqual(SOURCE_HASHES[fork])
  })

  it('are in the activation block only', () => {
    const config = testConfig({ regolith: 0, canyon: 0, delta: 0, ecotone: 1_700_000_010, fjord: 1_700_000_020 })
    expect(upgradeDeposits(config, 1_700_000_008)).toEqual([])
    expect(upgradeDeposits(config, 1_700_000_010)).toEqual(upgradeDepositsOf('ecotone'))
    expect(upgradeDeposits(config, 1_700_000_012)).toEqual([])
    expect(upgradeDeposits(config, 1_700_000_020)).toEqual(upgradeDepositsOf('fjord'))
  })

  it('are ordered by fork when several forks activate together', () => {
    const at = 1_700_000_010
    const config = testConfig({ regolith: 0, canyon: 0, delta: 0, ecotone: at, fjord: at, isthmus: at, jovian: at })
    expect(upgradeDeposits(config, at).map((tx) => tx.sourceHash)).toEqual(Object.values(SOURCE_HASHES).flat())
  })

  it('do not exist for a fork that is active at genesis', () => {
    expect(upgradeDeposits(testConfig({ ecotone: 0, jovian: 0, karst: 0 }), 1_700_000_002)).toEqual([])
    expect(upgradeGas(testConfig({ karst: 0 }), 1_700_000_002)).toBe(0n)
  })
})

describe("Karst's bundle", () => {
  const bundle = upgradeDepositsOf('karst')
  const CREATE2_FACTORY = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
  const CONDITIONAL_DEPLOYER = '0x420000000000000000000000000000000000002c'
  const PROXY_ADMIN = '0x4200000000000000000000000000000000000018'
  const DEPOSITOR = '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001'

  it('has 31 transactions with 55,370,657 gas, the largest 6,251,000', () => {
    expect(bundle).toHaveLength(31)
    expect(bundle.reduce((sum, { gas }) => sum + gas, 0n)).toBe(55_370_657n)
    expect(bundle.map(({ gas }) => gas).sort((a, b) => Number(b - a))[0]).toBe(6_251_000n)
  })

  it('calls the published contracts in the published order', () => {
    const selector = (data: Uint8Array) => toHex(data.subarray(0, 4))
    for (const [index, { from, to, data, mint, value, isSystemTx }] of bundle.entries()) {
      expect({ mint, value, isSystemTx }).toEqual({ mint: 0n, value: 0n, isSystemTx: false })
      if (index === 0) expect([from, to]).toEqual([DEPOSITOR, CREATE2_FACTORY])
      else if (index === 1)
        expect([from, to, selector(data)]).toEqual([ZERO_ADDRESS, CONDITIONAL_DEPLOYER, '0x3659cfe6'])
      else if (index === 28) expect([from, to, selector(data)]).toEqual([ZERO_ADDRESS, PROXY_ADMIN, '0x3659cfe6'])
      else if (index === 30) expect([from, to, selector(data)]).toEqual([DEPOSITOR, PROXY_ADMIN, '0x7c36f37e'])
      else expect([from, to, selector(data)]).toEqual([DEPOSITOR, CONDITIONAL_DEPLOYER, '0xcdcb760a'])
    }
  })

  it('has the source hash of its first intent, and the encodings of the recorded activation block', () => {
    expect(bundle[0]?.sourceHash).toBe(upgradeSourceHash('Karst 0: ConditionalDeployer Deployment'))
    expect(new Set(bundle.map(({ sourceHash }) => sourceHash)).size).toBe(31)
    expect(keccak256Hex(concatBytes(...bundle.map(encodeDepositTx)))).toBe(
      '0x2f47d1bd06afb3ebf55140cc3e21eb064ede47f4c1c0f4be80469a4ed5c325cb',
    )
  })

  it('adds its gas to the limit of the activation block only', () => {
    const config = testConfig({ jovian: 0, karst: 1_700_000_010 })
    expect(upgradeGas(config, 1_700_000_008)).toBe(0n)
    expect(upgradeGas(config, 1_700_000_010)).toBe(55_370_657n)
    expect(upgradeGas(config, 1_700_000_012)).toBe(0n)
    expect(upgradeDeposits(config, 1_700_000_010)).toEqual(bundle)
  })
})

describe("Lagoon's activation block", () => {
  const AT = 1_700_000_010
  const bundle = upgradeDepositsOf('jovian')
  const config = (parts: Partial<RollupConfig> = {}) => ({ ...testConfig({ karst: 0, lagoon: AT }), ...parts })

  it('contains the given bundle, and cannot be built without it', () => {
    expect(upgradeDeposits(config({ lagoonBundle: bundle }), AT)).toEqual(bundle)
    expect(upgradeDeposits(config({ lagoonBundle: bundle, dependencySet: [901n] }), AT)).toEqual(bundle)
    expect(() => upgradeDeposits(config(), AT)).toThrow(errorWith('upgrade-bundle-missing', '--rollup.upgrade-bundle'))
    for (const other of [AT - 2, AT + 2]) expect(upgradeDeposits(config(), other)).toEqual([])
  })

  it('enables and funds interop around the bundle, with more than one chain in the set', () => {
    const deposits = upgradeDeposits(config({ lagoonBundle: bundle, dependencySet: [901n, 902n] }), AT)
    expect(deposits.slice(1, -1)).toEqual(bundle)
    expect(deposits[0]).toMatchObject({
      sourceHash: upgradeSourceHash('Interop pre: setFeature(INTEROP)'),
      ...{ from: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001', to: '0x4200000000000000000000000000000000000015' },
      ...{ mint: 0n, value: 0n, gas: 100_000n, isSystemTx: false },
    })
    const feature = `${'494e5445524f50'}${'00'.repeat(25)}`
    expect(toHex(deposits[0]?.data ?? new Uint8Array(0))).toBe(`0x${SET_FEATURE}${feature}`)
    expect(deposits.at(-1)).toMatchObject({
      sourceHash: upgradeSourceHash('Interop post: ETHLiquidity Funding'),
      ...{ from: '0xdeaddeaddeaddeaddeaddeaddeaddeaddead0001', to: '0x4200000000000000000000000000000000000025' },
      ...{ mint: 2n ** 128n - 1n, value: 2n ** 128n - 1n, gas: 50_000n, isSystemTx: false },
    })
    expect(toHex(deposits.at(-1)?.data ?? new Uint8Array(0))).toBe(FUND)
  })

  it('adds the gas of the bundle and of both deposits for any set, and removes all of it later', () => {
    for (const dependencySet of [[901n], [901n, 902n]]) {
      expect(upgradeGas(config({ dependencySet }), AT)).toBe(64_827_394n + 150_000n)
      // The flag affects Karst's block only.
      expect(upgradeGasToStrip(config({ dependencySet, keepKarstUpgradeGas: true }), AT)).toBe(64_977_394n)
    }
    expect(upgradeGas(config(), AT + 2)).toBe(0n)
    const karst = { ...testConfig({ jovian: 0, karst: AT }), keepKarstUpgradeGas: true }
    expect([upgradeGas(karst, AT), upgradeGasToStrip(karst, AT)]).toEqual([55_370_657n, 0n])
  })

  it('has no extra transactions for a chain that has Lagoon at genesis', () => {
    const atGenesis = testConfig({ lagoon: 0 })
    expect(upgradeDeposits(atGenesis, 1_700_000_002)).toEqual([])
    expect(bundleNeededAt(atGenesis)).toBeUndefined()
    expect(bundleNeededAt(config())).toBe(AT)
    expect(bundleNeededAt(config({ lagoonBundle: bundle }))).toBeUndefined()
    expect(bundleNeededAt(testConfig({ karst: 0 }))).toBeUndefined()
  })
})
