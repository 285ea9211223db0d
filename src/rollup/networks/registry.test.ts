import { describe, expect, it } from 'vitest'
import { UsageError } from '../../lib/errors.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { checkRollupConfig, parseRollupConfig } from '../protocol/index.ts'
import { bootnodesOf, dumpOf, hasLeftRegistry, networkNames, rollupConfigOf } from './index.ts'

describe('network registry', () => {
  it.each(networkNames())('%s has a valid config that survives being written and read', (name) => {
    const config = rollupConfigOf(name)
    checkRollupConfig(config)
    const { protocolVersionsAddress, ...read } = parseRollupConfig(JSON.parse(JSON.stringify(dumpOf(config))))
    expect(protocolVersionsAddress).toBe(`0x${'0'.repeat(40)}`)
    expect(read).toEqual(config)
  })

  it('knows OP Mainnet', () => {
    const dump = dumpOf(rollupConfigOf('op-mainnet'))
    expect(dump).toMatchObject({
      genesis: {
        l1: { hash: '0x438335a20d98863a4c0c97999eb2481921ccd28553eac6f913af7c12aec04108', number: 17_422_590 },
        l2: { hash: '0xdbf6a80fef073de06add9b0d14026d6e5a86c85f6d102c36d3d8e9cf89c2afd3', number: 105_235_063 },
        l2_time: 1_686_068_903,
        system_config: {
          batcherAddr: '0x6887246668a3b87f54deb3b94ba47a6f63f32985',
          overhead: `0x${'bc'.padStart(64, '0')}`,
          scalar: `0x${'0a6fe0'.padStart(64, '0')}`,
          gasLimit: 30_000_000,
        },
      },
      block_time: 2,
      max_sequencer_drift: 600,
      seq_window_size: 3600,
      channel_timeout: 300,
      l1_chain_id: 1,
      l2_chain_id: 10,
      regolith_time: 0,
      canyon_time: 1_704_992_401,
      delta_time: 1_708_560_000,
      ecotone_time: 1_710_374_401,
      fjord_time: 1_720_627_201,
      granite_time: 1_726_070_401,
      holocene_time: 1_736_445_601,
      isthmus_time: 1_746_806_401,
      jovian_time: 1_764_691_201,
      karst_time: 1_783_526_401,
      keep_karst_upgrade_gas: true,
      batch_inbox_address: '0xff00000000000000000000000000000000000010',
      deposit_contract_address: '0xbeb5fc579115071764c7423a4f12edde41f106ed',
      l1_system_config_address: '0x229047fed2591dbec1ef1118d64f7af3db9eb290',
      da_challenge_address: `0x${'0'.repeat(40)}`,
      da_challenge_window: 0,
      da_resolve_window: 0,
      use_plasma: false,
    })
  })

  it('contains the chains that changed after its registry commit', () => {
    expect(rollupConfigOf('worldchain-mainnet').forks.karst).toBe(1_789_992_000)
    expect(rollupConfigOf('worldchain-sepolia').forks.karst).toBe(1_788_868_800)
    expect(rollupConfigOf('giwa-sepolia')).toMatchObject({
      ...{ l2ChainId: 91_342n, blockTime: 1, batchInboxAddress: '0x00ef2e3b7754f2a65f1e897a27a3306d9b52f544' },
      forks: { holocene: 0, isthmus: 1_753_349_700, jovian: 1_767_070_800, karst: 1_783_317_600 },
      genesis: { l2Time: 1_753_345_116, systemConfig: { gasLimit: 60_000_000n } },
    })
  })

  it('keeps chains that left the registry', () => {
    expect(networkNames().filter(hasLeftRegistry)).toEqual([
      ...['automata-mainnet', 'lisk-mainnet', 'lisk-sepolia', 'mint-mainnet', 'polynomial-mainnet'],
      ...['redstone-mainnet', 'sseed-mainnet', 'xterio-eth-mainnet'],
    ])
  })

  // State of the registry in July 2026: the chains with Karst, and the chains that keep its extra gas.
  it('contains the chains with Karst', () => {
    const withKarst = networkNames().filter((name) => rollupConfigOf(name).forks.karst !== undefined)
    expect(withKarst.filter((name) => rollupConfigOf(name).forks.karst === 1_783_526_401)).toHaveLength(10)
    expect(withKarst.filter((name) => rollupConfigOf(name).forks.karst === 1_781_712_001)).toHaveLength(8)
    expect(withKarst).toHaveLength(21)
    expect(networkNames().filter((name) => rollupConfigOf(name).keepKarstUpgradeGas === true)).toEqual([
      ...['ink-mainnet', 'ink-sepolia', 'lisk-sepolia', 'metal-sepolia', 'mode-sepolia', 'op-mainnet', 'op-sepolia'],
      ...['soneium-mainnet', 'soneium-minato-sepolia', 'unichain-mainnet', 'unichain-sepolia', 'zora-sepolia'],
    ])
  })

  it('shows the settings of a chain with alternative DA', () => {
    expect(dumpOf(rollupConfigOf('automata-mainnet'))).toMatchObject({
      da_challenge_address: '0x08c5dcdd5e46d31cc1591ee15b084663507597f3',
      da_challenge_window: 3600,
      da_resolve_window: 3600,
      use_plasma: true,
    })
  })

  it.each([
    ['op', 'op-mainnet'],
    ['op-mainet', 'op-mainnet'],
    ['OP-Sepolia', 'op-sepolia'],
    ['zora', 'zora-mainnet'],
    ['unichain', 'unichain-mainnet'],
  ])('suggests for %s among others %s', (given, wanted) => {
    expect(() => rollupConfigOf(given)).toThrow(wanted)
  })

  it('refuses an unknown name and lists the most similar names', () => {
    expect(() => rollupConfigOf('op-mainet')).toThrow(errorWith('usage', '"op-mainet"', 'op-mainnet'))
    expect(() => rollupConfigOf('toString')).toThrow(UsageError)
  })

  it('lists bootnodes by L1', () => {
    expect(bootnodesOf(1n).length).toBeGreaterThan(10)
    expect(bootnodesOf(11_155_111n).length).toBeGreaterThan(3)
    expect(bootnodesOf(900n)).toEqual([])
    for (const record of [...bootnodesOf(1n), ...bootnodesOf(11_155_111n)]) expect(record).toMatch(/^(enr:|enode:\/\/)/)
  })
})
