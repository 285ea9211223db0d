import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { dumpOf, networkNames, rollupConfigOf } from '../../rollup/networks/index.ts'
import { BUNDLE_PINS, upgradeBundleToJson, upgradeDepositsOf } from '../../rollup/protocol/index.ts'
import { type FlagValues, flagKey } from '../shared/flags.ts'
import { checkRollupNodeFlags, loadRollupConfig } from './rollupNodeConfig.ts'
import { rollupNodeFlags } from './rollupNodeFlags.ts'

type Values = FlagValues<typeof rollupNodeFlags>

const recorded = new URL('../../../test/vectors/data/op-node-holocene-span-brotli-calldata.json.gz', import.meta.url)
const rollupJson: Record<string, unknown> = JSON.parse(gunzipSync(readFileSync(recorded)).toString()).rollup
const CHAIN_OP_CONFIG = { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 }
let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-config-'))
})
afterAll(() => rmSync(folder, { recursive: true }))

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

function values(changes: Partial<Values> = {}): Values {
  const defaults = Object.fromEntries(
    Object.entries(rollupNodeFlags).map(([name, flag]) => [flagKey(name), flag.default]),
  )
  return { ...(defaults as Values), l2: 'http://127.0.0.1:8551', l2JwtSecret: 'jwt.txt', ...changes }
}

/** L1 of the recorded chain. */
const L1_CHAIN = {
  chainId: 900,
  cancunTime: 0,
  pragueTime: 50,
  blobSchedule: {
    cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
    prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
  },
}

const LAGOON = {
  ...rollupJson,
  ...{ chain_op_config: CHAIN_OP_CONFIG, isthmus_time: 7, jovian_time: 8, karst_time: 9, lagoon_time: 11 },
}
const DEPENDENCY_SET_FAULTS: readonly [what: string, set: unknown, problem: string][] = [
  ['without the chain itself', { dependencies: { 902: {} } }, 'chain 901'],
  ['without dependencies', {}, 'dependency set.dependencies:'],
  ['with names', { dependencies: { 901: {}, op: {} } }, 'op'],
  ['that is no JSON', '{', 'set.json: '],
]

const load = (changes: Partial<Values>) =>
  loadRollupConfig(values({ rollupL1ChainConfig: file('l1-of-900.json', L1_CHAIN), ...changes }), silentLogger)

describe('loadRollupConfig', () => {
  it('reads a file and replaces fork times by flags', async () => {
    const rollupConfig = file('rollup.json', { ...rollupJson, chain_op_config: CHAIN_OP_CONFIG })
    const config = await load({ rollupConfig, overrideIsthmus: 1_900_000_000, overridePectrablobschedule: 7 })
    expect(config.l2ChainId).toBe(901n)
    expect(config.forks).toMatchObject({ holocene: 0, isthmus: 1_900_000_000 })
    expect(config.pectraBlobScheduleTime).toBe(7)
  })

  it('keeps the Karst gas setting of the rollup config unless the flag is set', async () => {
    const rollupConfig = file('rollup.json', { ...rollupJson, keep_karst_upgrade_gas: true })
    expect((await load({ rollupConfig })).keepKarstUpgradeGas).toBe(true)
    expect((await load({ rollupConfig, overrideKeepKarstUpgradeGas: false })).keepKarstUpgradeGas).toBe(false)
    const plain = file('rollup.json', rollupJson)
    expect((await load({ rollupConfig: plain, overrideKeepKarstUpgradeGas: true })).keepKarstUpgradeGas).toBe(true)
  })

  it('accepts both names of Lagoon, with the required dependency set', async () => {
    const set = file('set.json', { dependencies: { 901: {}, 902: {} }, overrideMessageExpiryWindow: null })
    const short = file('short.json', { dependencies: { 901: {} }, overrideMessageExpiryWindow: 600 })
    const older = { ...LAGOON, lagoon_time: undefined, interop_time: 11 }
    for (const json of [LAGOON, older]) {
      const config = await load({ rollupConfig: file('rollup.json', json), interopDependencySet: set })
      expect(config.forks.lagoon).toBe(11)
      expect(config.dependencySet).toEqual([901n, 902n])
      expect(config.messageExpiryWindowS).toBeUndefined()
      expect(config.lagoonBundle).toBeUndefined()
    }
    const own = await load({ rollupConfig: file('rollup.json', LAGOON), interopDependencySet: short })
    expect(own).toMatchObject({ dependencySet: [901n], messageExpiryWindowS: 600 })
    const overridden = { rollupConfig: file('rollup.json', LAGOON), interopDependencySet: set, overrideLagoon: 20 }
    expect((await load(overridden)).forks.lagoon).toBe(20)
  })

  it("accepts a file with Karst's bundle, which is also built in", async () => {
    const karst = upgradeBundleToJson({ pin: BUNDLE_PINS.karst, deposits: upgradeDepositsOf('karst') })
    const rollupUpgradeBundle = [file('karst.json', JSON.parse(JSON.stringify(karst)))]
    const config = await load({ rollupConfig: file('rollup.json', rollupJson), rollupUpgradeBundle })
    expect(config.lagoonBundle).toBeUndefined()
  })

  it('uses the network of the registry, even if a file is given', async () => {
    const config = await load({ network: 'op-mainnet', rollupConfig: file('rollup.json', rollupJson) })
    expect(config.l2ChainId).toBe(10n)
  })

  it('reads the blob schedule of an unknown L1', async () => {
    const rollupConfig = file('rollup.json', rollupJson)
    const expected = [
      { time: 0, updateFraction: 3338477n },
      { time: 50, updateFraction: 5007716n },
    ]
    expect((await load({ rollupConfig, rollupL1ChainConfig: file('l1.json', L1_CHAIN) })).l1BlobSchedule).toEqual(
      expected,
    )
    expect(
      (await load({ rollupConfig, rollupL1ChainConfig: file('l1.json', { config: L1_CHAIN }) })).l1BlobSchedule,
    ).toEqual(expected)
  })

  it('requires it for a private L1, unless the chain never reaches Ecotone', async () => {
    const rollupConfig = file('rollup.json', rollupJson)
    await expect(load({ rollupConfig, rollupL1ChainConfig: undefined })).rejects.toThrow(
      errorWith('usage', '--rollup.l1-chain-config', 'chain 900'),
    )
    const { ecotone_time: _, fjord_time: __, granite_time: ___, holocene_time: ____, ...early } = rollupJson
    const beforeEcotone = file('early.json', early)
    expect((await load({ rollupConfig: beforeEcotone, rollupL1ChainConfig: undefined })).l1BlobSchedule).toBeUndefined()
  })

  it('ignores retired entries of the L1 config, as op-node does', async () => {
    const retired = { ...L1_CHAIN.blobSchedule, osaka: {}, verkle: { baseFeeUpdateFraction: 1 }, amsterdam: {} }
    const l1 = file('l1.json', { ...L1_CHAIN, osakaTime: 60, verkleTime: 70, blobSchedule: retired })
    const schedule = (await load({ rollupConfig: file('rollup.json', rollupJson), rollupL1ChainConfig: l1 }))
      .l1BlobSchedule
    expect(schedule?.map(({ time }) => time)).toEqual([0, 50])
  })

  it('refuses a chain on top of an OP Stack L2, and names that L2', async () => {
    const rollupConfig = file('rollup.json', rollupJson)
    const rollupL1ChainConfig = file('l3.json', { chainId: 900, optimism: {} })
    await expect(load({ rollupConfig, rollupL1ChainConfig })).rejects.toThrow(errorWith('usage', 'chain 900', 'L3'))
    const onBuiltIn = file('on-op.json', { ...rollupJson, l1_chain_id: 10 })
    await expect(load({ rollupConfig: onBuiltIn })).rejects.toThrow(errorWith('usage', 'op-mainnet'))
  })

  it('ignores it if the parameters are built in', async () => {
    const network = 'op-mainnet'
    expect((await load({ network, rollupL1ChainConfig: file('l1.json', L1_CHAIN) })).l1BlobSchedule).toBeUndefined()
  })

  // The registry marks twelve chains as alt-da. Eight of them have settings of a challenge contract.
  it.each([
    'automata-mainnet',
    'celo-mainnet',
    'celo-sep-sepolia',
    'cyber-mainnet',
    'fraxtal-mainnet',
    'funki-mainnet',
    'funki-sepolia',
    'lyra-mainnet',
    'orderly-mainnet',
    'redstone-mainnet',
    'silent-data-mainnet-mainnet',
    'xterio-eth-mainnet',
  ])('refuses %s, whose batches are not on L1', async (network) => {
    await expect(load({ network })).rejects.toThrow(errorWith('usage', network, 'alternative data availability'))
    // The chain is also refused when its config comes from a file, whatever the file says of alt-DA.
    const { alt_da: _, ...rollup } = dumpOf(rollupConfigOf(network))
    const rollupConfig = file('alt.json', { ...rollup, use_plasma: false })
    await expect(load({ rollupConfig })).rejects.toThrow(
      errorWith('usage', rollupConfig, network, 'alternative data availability'),
    )
  })

  it('starts each other network of the registry that its op-node starts', async () => {
    const refused = new Map<string, string>()
    for (const network of networkNames()) {
      const error = await load({ network }).then(
        () => undefined,
        (thrown: unknown) => String(thrown),
      )
      if (error !== undefined && !error.includes('alternative data availability')) refused.set(network, error)
    }
    // Chains on Sepolia from before its Prague fork whose config does not say when they adopted it.
    expect([...refused.keys()]).toEqual([
      'camp-sepolia',
      'ozean-sepolia',
      'pivotal-sepolia',
      'settlus-sepolia-sepolia',
      'shape-sepolia',
      'tbn-sepolia',
    ])
    for (const [, text] of refused) expect(text).toContain('probably missing Pectra blob schedule')
    await load({ network: 'camp-sepolia', ignoreMissingPectraBlobSchedule: true })
  })

  it('adds or requires the EIP-1559 settings of a newer chain', async () => {
    const old = await load({ rollupConfig: file('rollup.json', rollupJson) })
    expect(old.chainOpConfig).toBeUndefined()
    const { chain_op_config: _, ...opMainnet } = dumpOf(rollupConfigOf('op-mainnet'))
    const known = await load({ rollupConfig: file('known.json', opMainnet) })
    expect(known.chainOpConfig).toEqual(rollupConfigOf('op-mainnet').chainOpConfig)
  })

  it.each<[string, () => Partial<Values>, string]>([
    [
      'alt-DA settings in a file',
      () => ({ rollupConfig: file('alt.json', { ...rollupJson, alt_da: { da_commitment_type: 'KeccakCommitment' } }) }),
      'alternative data availability',
    ],
    [
      'alt-DA settings in their old form',
      () => ({ rollupConfig: file('alt.json', { ...rollupJson, use_plasma: true, da_challenge_window: 5 }) }),
      'alternative data availability',
    ],
    [
      'a new chain without its EIP-1559 settings',
      () => ({ rollupConfig: file('rollup.json', { ...rollupJson, isthmus_time: 9 }) }),
      'chain_op_config',
    ],
    [
      'a scheduled interop upgrade',
      () => ({
        rollupConfig: file('rollup.json', { ...rollupJson, isthmus_time: 9, jovian_time: 9, karst_time: 9 }),
        overrideLagoon: 10,
      }),
      'dependency set',
    ],
    [
      'the same by its later name',
      () => ({
        rollupConfig: file('rollup.json', {
          ...rollupJson,
          ...{ isthmus_time: 9, jovian_time: 9, karst_time: 9, interop_time: 12, lagoon_time: 11 },
        }),
      }),
      'scheduled for 11',
    ],
    ...DEPENDENCY_SET_FAULTS.map(([what, set, problem]): [string, () => Partial<Values>, string] => [
      `a dependency set ${what}`,
      () => ({ rollupConfig: file('rollup.json', LAGOON), interopDependencySet: file('set.json', set) }),
      problem,
    ]),
    [
      'a bundle that is none',
      () => ({
        rollupConfig: file('rollup.json', rollupJson),
        rollupUpgradeBundle: [file('bundle.json', { transactions: [] })],
      }),
      'bundle.json: upgrade bundle:',
    ],
    ['neither', () => ({}), '--network'],
    ['a missing file', () => ({ rollupConfig: join(folder, 'none') }), join(tmpdir(), 'devium-')],
    ['no JSON', () => ({ rollupConfig: file('bad.json', '{') }), 'bad.json'],
    [
      'a missing field',
      () => ({ rollupConfig: file('bad.json', { ...rollupJson, l2_chain_id: undefined }) }),
      'l2_chain_id',
    ],
    ['an impossible chain', () => ({ rollupConfig: file('bad.json', { ...rollupJson, block_time: 0 }) }), 'block time'],
    [
      'forks out of order',
      () => ({ rollupConfig: file('rollup.json', rollupJson), overrideGranite: 5, overrideFjord: 9 }),
      'granite',
    ],
    ['an unknown network', () => ({ network: 'op-mainet' }), 'op-mainnet'],
    [
      'an L1 config of another chain',
      () => ({ rollupConfig: file('rollup.json', rollupJson), rollupL1ChainConfig: file('l1.json', { chainId: 5 }) }),
      'chain 5',
    ],
    [
      'an L1 config without blobs',
      () => ({ rollupConfig: file('rollup.json', rollupJson), rollupL1ChainConfig: file('l1.json', { chainId: 900 }) }),
      'blob schedule',
    ],
  ])('refuses %s in one line', async (_name, changes, expected) => {
    const error = await load(changes()).catch((thrown: unknown) => thrown)
    expect(error).toEqual(errorWith('usage', expected))
    expect(String(error)).not.toContain('\n')
  })
})

describe('checkRollupNodeFlags', () => {
  it('requires the endpoint and the secret', () => {
    const expected = { l2: 'http://127.0.0.1:8551', jwtPath: 'jwt.txt' }
    expect(checkRollupNodeFlags(values())).toEqual(expected)
    expect(checkRollupNodeFlags(values({ conductorEnabled: true, sequencerEnabled: true }))).toEqual(expected)
  })

  it.each<[Partial<Values>, string]>([
    [{ l2: undefined }, '--l2 '],
    [{ l2JwtSecret: undefined }, '--l2.jwt-secret'],
    [{ l1: ['http://127.0.0.1:1', 'localhost:8545'] }, '--l1 '],
    [{ l1: [] }, '--l1 '],
    [{ l2: 'ws://127.0.0.1:8551' }, '--l2 '],
    [{ l1HttpPollInterval: 1 }, '--l1.http-poll-interval'],
    [{ sequencerStopped: true }, '--sequencer.stopped'],
    [{ conductorEnabled: true }, 'sequencer must be enabled'],
    [{ conductorEnabled: true, sequencerEnabled: true, rpcAdminState: 'state.json' }, 'config persistence'],
    [{ conductorEnabled: true, sequencerEnabled: true, conductorRpc: 'localhost:8547' }, '--conductor.rpc'],
  ])('refuses %j', (changes, expected) => {
    expect(() => checkRollupNodeFlags(values(changes))).toThrow(errorWith('usage', expected))
  })
})
