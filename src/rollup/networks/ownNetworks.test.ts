import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import {
  addNetwork,
  dumpOf,
  findNetwork,
  ownNetworkNames,
  ownNetworksFolder,
  readNetworkFile,
  removeNetwork,
  rollupConfigOf,
} from './index.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'devium-networks-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

function file(name: string, content: unknown): string {
  const path = join(folder, name)
  mkdirSync(join(path, '..'), { recursive: true })
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const CONFIG = { ...rollupConfigOf('op-sepolia'), l2ChainId: 4_242n }

/** OP Mainnet in the superchain registry's format. */
const OP_TOML = `
name = "OP Mainnet"
public_rpc = "https://mainnet.optimism.io"
superchain_level = 2
governed_by_optimism = true
superchain_time = 0
data_availability_type = "eth-da"
chain_id = 10
batch_inbox_addr = "0xFF00000000000000000000000000000000000010"
block_time = 2
seq_window_size = 3600
max_sequencer_drift = 600

[hardforks]
  canyon_time = 1704992401 # Thu 11 Jan 2024 17:00:01 UTC
  delta_time = 1708560000
  ecotone_time = 1710374401
  fjord_time = 1720627201
  granite_time = 1726070401
  holocene_time = 1736445601
  isthmus_time = 1746806401
  jovian_time = 1764691201
  karst_time = 1783526401
  keep_karst_upgrade_gas = true

[optimism]
  eip1559_elasticity = 6
  eip1559_denominator = 50
  eip1559_denominator_canyon = 250

[genesis]
  l2_time = 1686068903
  [genesis.l1]
    hash = "0x438335a20d98863a4c0c97999eb2481921ccd28553eac6f913af7c12aec04108"
    number = 17422590
  [genesis.l2]
    hash = "0xdbf6a80fef073de06add9b0d14026d6e5a86c85f6d102c36d3d8e9cf89c2afd3"
    number = 105235063
  [genesis.system_config]
    batcherAddress = "0x6887246668a3b87F54DeB3b94Ba47a6f63F32985"
    overhead = "0x00000000000000000000000000000000000000000000000000000000000000bc"
    scalar = "0x00000000000000000000000000000000000000000000000000000000000a6fe0"
    gasLimit = 30000000

[addresses]
  OptimismPortalProxy = "0xbEb5Fc579115071764c7423A4f12eDde41f106Ed"
  SystemConfigProxy = "0x229047fed2591dbec1eF1118d64F7aF3dB9EB290"
`

describe('networks of the operator', () => {
  it('are found by name next to the built-in networks', async () => {
    const own = join(folder, 'own')
    expect(await ownNetworkNames(own)).toEqual([])
    expect(await addNetwork(own, 'my-chain', CONFIG)).toBe('added')
    expect(await ownNetworkNames(own)).toEqual(['my-chain'])
    expect(await findNetwork('my-chain', own)).toMatchObject({ config: CONFIG, path: join(own, 'my-chain.json') })
    expect((await findNetwork('op-mainnet', own)).config).toEqual(rollupConfigOf('op-mainnet'))
    await expect(findNetwork('my-chian', own)).rejects.toThrow(errorWith('usage', '"my-chian"', 'my-chain'))
    await removeNetwork(own, 'my-chain')
    expect(await ownNetworkNames(own)).toEqual([])
  })

  it('are replaced only on request', async () => {
    await addNetwork(folder, 'mine', CONFIG)
    expect(await addNetwork(folder, 'mine', CONFIG)).toBe('same')
    const other = { ...CONFIG, blockTime: 1 }
    await expect(addNetwork(folder, 'mine', other)).rejects.toThrow(errorWith('usage', 'mine', '--replace'))
    expect(await addNetwork(folder, 'mine', other, { replace: true })).toBe('replaced')
    expect((await findNetwork('mine', folder)).config.blockTime).toBe(1)
    expect(readdirSync(folder)).toEqual(['mine.json'])
  })

  it.each([
    ['op-mainnet', 'op-mainnet'],
    ['../x', '"../x"'],
    ['', '""'],
    ['Big', '"Big"'],
  ])('cannot have the name %j', async (name, named) => {
    await expect(addNetwork(folder, name, CONFIG, { replace: true })).rejects.toThrow(errorWith('usage', named))
    expect(readdirSync(folder)).toEqual([])
  })

  it('must have a valid rollup config', async () => {
    await expect(addNetwork(folder, 'mine', { ...CONFIG, blockTime: 0 })).rejects.toThrow(
      errorWith('usage', 'block time'),
    )
    expect(readdirSync(folder)).toEqual([])
  })

  it('report a damaged file, and do not hide a built-in network', async () => {
    file('mine.json', '{')
    file('op-mainnet.json', dumpOf(CONFIG))
    await expect(findNetwork('mine', folder)).rejects.toThrow(errorWith('usage', 'mine', join(folder, 'mine.json')))
    expect((await findNetwork('op-mainnet', folder)).config.l2ChainId).toBe(10n)
    expect(await ownNetworkNames(folder)).toEqual(['mine'])
  })

  it("are stored in the system's folder for user data", () => {
    expect(ownNetworksFolder({ DEVIUM_DATA_DIR: '/d' }, 'linux')).toBe('/d/networks')
    expect(ownNetworksFolder({ XDG_DATA_HOME: '/x' }, 'linux')).toBe('/x/devium/networks')
    expect(ownNetworksFolder({}, 'linux')).toBe(join(homedir(), '.local/share/devium/networks'))
    expect(ownNetworksFolder({}, 'darwin')).toContain('Application Support')
  })
})

describe('readNetworkFile', () => {
  it('reads a rollup.json', async () => {
    const read = await readNetworkFile(file('rollup.json', dumpOf(CONFIG)), undefined)
    expect({ ...read.config, protocolVersionsAddress: undefined }).toEqual({
      ...CONFIG,
      protocolVersionsAddress: undefined,
    })
    expect(read.proposedName).toBe('chain-4242')
    expect((await readNetworkFile(file('My Chain.json', dumpOf(CONFIG)), undefined)).proposedName).toBe('my-chain')
  })

  it('reads the TOML of the superchain registry like the built-in registry', async () => {
    const read = await readNetworkFile(file('mainnet/op.toml', OP_TOML), undefined)
    expect(read.config).toEqual(rollupConfigOf('op-mainnet'))
    expect(read).toMatchObject({ usesAltDa: false, proposedName: 'op-mainnet' })
    expect((await readNetworkFile(file('op.toml', OP_TOML), 1n)).config).toEqual(read.config)
  })

  it('keeps the forks of the registry that this version does not know, and names misspelt members', async () => {
    const toml = OP_TOML.replace('  karst_time', '  venus_time = 1990000000\n  keep_gas = true\n  krast_time')
    const { config, unknown } = await readNetworkFile(file('mainnet/op.toml', toml), undefined)
    expect(config.unknownForks).toEqual([
      { name: 'venus', time: 1_990_000_000 },
      { name: 'krast', time: 1_783_526_401 },
    ])
    expect(unknown).toEqual([
      { member: 'venus_time', nearest: undefined },
      { member: 'keep_gas', nearest: undefined },
      { member: 'krast_time', nearest: 'karst_time' },
    ])
  })

  it('reads the JSON form of the registry', async () => {
    const chain = {
      ...{
        Name: 'X',
        DataAvailabilityType: 'alt-da',
        l1_chain_id: 1,
        l2_chain_id: 77,
        batch_inbox_address: `0x${'3'.repeat(40)}`,
      },
      ...{ block_time: 2, seq_window_size: 9, max_sequencer_drift: 600, alt_da: null, superchain_config: null },
      hardfork_configuration: { canyon_time: 0, interop_time: 5 },
      optimism: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
      genesis: {
        l1: { number: 1, hash: `0x${'1'.repeat(64)}` },
        l2: { number: 0, hash: `0x${'2'.repeat(64)}` },
        l2_time: 7,
        system_config: {
          batcherAddr: `0x${'4'.repeat(40)}`,
          overhead: null,
          scalar: `0x${'5'.repeat(64)}`,
          gasLimit: 1,
        },
      },
      Addresses: { OptimismPortalProxy: `0x${'6'.repeat(40)}`, SystemConfigProxy: `0x${'7'.repeat(40)}` },
    }
    const read = await readNetworkFile(file('x.json', chain), undefined)
    expect(read).toMatchObject({
      usesAltDa: true,
      config: {
        l2ChainId: 77n,
        forks: { regolith: 0, canyon: 0, lagoon: 5 },
        chainOpConfig: { eip1559Denominator: 50 },
      },
    })
  })

  it.each<[string, string, unknown, string]>([
    ['an L1 that is nowhere said', 'op.toml', OP_TOML, '--l1-chain-id'],
    ['no TOML', 'op.toml', 'name = ', 'TOML line 1'],
    ['no JSON', 'rollup.json', '{', 'JSON'],
    ['a missing member', 'rollup.json', { ...dumpOf(CONFIG), block_time: undefined }, 'rollup config.block_time'],
    ['an impossible chain', 'rollup.json', { ...dumpOf(CONFIG), seq_window_size: 1 }, 'sequencing window size'],
    ['a large file', 'rollup.json', `{${' '.repeat(1_100_000)}}`, '1048576'],
  ])('refuses %s', async (_name, name, content, message) => {
    const path = file(name, content)
    await expect(readNetworkFile(path, undefined)).rejects.toMatchObject({
      code: 'usage',
      message: expect.stringContaining(path),
    })
    await expect(readNetworkFile(path, undefined)).rejects.toSatisfy((error: Error) =>
      `${error.message} ${String(error.cause)}`.includes(message),
    )
  })

  it('refuses a missing file', async () => {
    const path = join(folder, 'none')
    await expect(readNetworkFile(path, undefined)).rejects.toThrow(errorWith('usage', path))
  })
})
