import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { testConfig } from '../testUtils/config.ts'
import { type RollupConfig, ZERO_ADDRESS, ZERO_HASH } from '../types.ts'
import { checkRollupConfig, parseRollupConfig, rollupConfigToJson } from './rollupConfig.ts'

/** A config of an op-node of 2024, with checksummed addresses. */
const JSON_CONFIG = {
  genesis: {
    l1: { hash: `0x${'1a'.repeat(32)}`, number: 5 },
    l2: { hash: `0x${'2b'.repeat(32)}`, number: 0 },
    l2_time: 1_795_228_517,
    system_config: {
      batcherAddr: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
      overhead: ZERO_HASH,
      scalar: '0x010000000000000000000000000000000000000000000000000c5fc500000558',
      gasLimit: 60_000_000,
      eip1559Params: '0x0000000000000000',
    },
  },
  block_time: 2,
  max_sequencer_drift: 600,
  seq_window_size: 3600,
  channel_timeout: 300,
  l1_chain_id: 900,
  l2_chain_id: 901,
  regolith_time: 0,
  canyon_time: 10,
  delta_time: null,
  batch_inbox_address: '0xff00000000000000000000000000000000000901',
  deposit_contract_address: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  l1_system_config_address: '0x0000000000000000000000000000000000009001',
}

describe('parseRollupConfig', () => {
  it("reads op-node's JSON", () => {
    expect(parseRollupConfig({ ...JSON_CONFIG, some_later_field: [1] })).toEqual({
      genesis: {
        l1: { hash: `0x${'1a'.repeat(32)}`, number: 5 },
        l2: { hash: `0x${'2b'.repeat(32)}`, number: 0 },
        l2Time: 1_795_228_517,
        systemConfig: {
          batcherAddress: '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc',
          overhead: ZERO_HASH,
          scalar: '0x010000000000000000000000000000000000000000000000000c5fc500000558',
          gasLimit: 60_000_000n,
          eip1559Params: '0x0000000000000000',
        },
      },
      blockTime: 2,
      maxSequencerDrift: 600,
      seqWindowSize: 3600,
      channelTimeout: 300,
      l1ChainId: 900n,
      l2ChainId: 901n,
      forks: { regolith: 0, canyon: 10 },
      batchInboxAddress: '0xff00000000000000000000000000000000000901',
      depositContractAddress: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
      l1SystemConfigAddress: '0x0000000000000000000000000000000000009001',
    } satisfies RollupConfig)
  })

  it('reads the output of rollupConfigToJson', () => {
    const config = testConfig(
      {
        regolith: 0,
        canyon: 0,
        delta: 0,
        ecotone: 0,
        fjord: 0,
        granite: 0,
        holocene: 0,
        isthmus: 5,
        jovian: 6,
        karst: 7,
        lagoon: 8,
      },
      {
        pectraBlobScheduleTime: 99,
        keepKarstUpgradeGas: true,
        protocolVersionsAddress: `0x${'c1'.repeat(20)}`,
        l2ChainId: 2n ** 63n + 5n,
        altDa: {
          daChallengeAddress: `0x${'d1'.repeat(20)}`,
          daCommitmentType: 'KeccakCommitment',
          daChallengeWindow: 100,
          daResolveWindow: 200,
          daMaxInputSize: 4_000_000,
        },
        chainOpConfig: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
      },
    )
    config.genesis.systemConfig.operatorFeeParams = `0x${'0a'.repeat(32)}`
    config.genesis.systemConfig.minBaseFee = 7n
    config.genesis.systemConfig.daFootprintGasScalar = 400
    expect(parseRollupConfig(JSON.parse(JSON.stringify(rollupConfigToJson(config))))).toEqual(config)
  })

  it('accepts interop_time for lagoon_time, which takes precedence', () => {
    expect(parseRollupConfig({ ...JSON_CONFIG, interop_time: 9 }).forks.lagoon).toBe(9)
    expect(parseRollupConfig({ ...JSON_CONFIG, interop_time: 9, lagoon_time: 10 }).forks.lagoon).toBe(10)
  })

  it("accepts kona's name of the batcher, and the flat alternative-DA fields", () => {
    const { batcherAddr, ...rest } = JSON_CONFIG.genesis.system_config
    const genesis = { ...JSON_CONFIG.genesis, system_config: { ...rest, batcherAddress: batcherAddr } }
    const flat = {
      use_plasma: true,
      da_challenge_address: `0x${'d1'.repeat(20)}`,
      da_challenge_window: 1,
      da_resolve_window: 2,
    }
    const config = parseRollupConfig({ ...JSON_CONFIG, genesis, ...flat })
    expect(config.genesis.systemConfig.batcherAddress).toBe(batcherAddr.toLowerCase())
    expect(config.altDa).toEqual({
      daChallengeAddress: `0x${'d1'.repeat(20)}`,
      daCommitmentType: 'KeccakCommitment',
      daChallengeWindow: 1,
      daResolveWindow: 2,
    })
  })

  it.each([
    ['genesis', { genesis: undefined }],
    ['genesis.l1.hash', { genesis: { ...JSON_CONFIG.genesis, l1: { hash: '0x12', number: 1 } } }],
    ['block_time', { block_time: '2' }],
    ['seq_window_size', { seq_window_size: 1.5 }],
    ['canyon_time', { canyon_time: -1 }],
    ['batch_inbox_address', { batch_inbox_address: null }],
    ['alt_da.da_commitment_type', { alt_da: { da_commitment_type: 'Other' } }],
  ])('names the invalid member %s', (member, change) => {
    expect(() => parseRollupConfig({ ...JSON_CONFIG, ...change })).toThrow(
      errorWith('decode', `rollup config.${member}:`),
    )
  })

  it('throws only DecodeError', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(JSON_CONFIG)), fc.jsonValue(), fc.jsonValue(), (key, value, whole) => {
        for (const json of [{ ...JSON_CONFIG, [key]: value }, whole]) {
          expectDecodeErrorOrDone(() => parseRollupConfig(json))
        }
      }),
    )
  })
})

describe('checkRollupConfig', () => {
  it('accepts a valid config', () => {
    expect(() => checkRollupConfig(testConfig({ regolith: 0, canyon: 5, delta: 5 }))).not.toThrow()
    expect(() => checkRollupConfig(parseRollupConfig({ ...JSON_CONFIG, delta_time: 10 }))).not.toThrow()
  })

  const good = testConfig()
  const genesis = (change: Partial<RollupConfig['genesis']>) => ({ genesis: { ...good.genesis, ...change } })
  const system = (change: object) => genesis({ systemConfig: { ...good.genesis.systemConfig, ...change } })
  const altDa = (change: object) => ({
    altDa: {
      daChallengeAddress: ZERO_ADDRESS,
      daCommitmentType: 'GenericCommitment' as const,
      daChallengeWindow: 1,
      daResolveWindow: 1,
      ...change,
    },
  })
  it.each([
    ['block time', { blockTime: 0 }],
    ['channel timeout', { channelTimeout: 0 }],
    ['sequencing window size', { seqWindowSize: 1 }],
    ['max sequencer drift', { maxSequencerDrift: 0 }],
    ['genesis L1 hash', genesis({ l1: { hash: ZERO_HASH, number: 0 } })],
    ['genesis L2 hash', genesis({ l2: { hash: ZERO_HASH, number: 0 } })],
    ['genesis', genesis({ l2: good.genesis.l1 })],
    ['L2 genesis time', genesis({ l2Time: 0 })],
    ['batcher address', system({ batcherAddress: ZERO_ADDRESS })],
    ['scalar', system({ scalar: ZERO_HASH })],
    ['gas limit', system({ gasLimit: 0n })],
    ['batch inbox', { batchInboxAddress: ZERO_ADDRESS }],
    ['deposit contract', { depositContractAddress: ZERO_ADDRESS }],
    ['L1 chain ID', { l1ChainId: 0n }],
    ['L2 chain ID', { l2ChainId: 0n }],
    ['chain', { l2ChainId: 900n }],
    ['DA challenge address', altDa({ daCommitmentType: 'KeccakCommitment' })],
    ['DA challenge address', altDa({ daChallengeAddress: good.batchInboxAddress })],
    ['DAChallengeWindow', altDa({ daChallengeWindow: 0 })],
    ['DAResolveWindow', altDa({ daResolveWindow: 0 })],
    ['da_max_input_size', altDa({ daMaxInputSize: 0 })],
    [['delta', 5, 'canyon'], { forks: { regolith: 0, delta: 5 } }],
    [['canyon', 5, 'regolith', 6], { forks: { regolith: 6, canyon: 5 } }],
    [['canyon', 5, 'regolith'], { forks: { canyon: 5 } }],
    [['karst', 'jovian', 2_000_000_000], { forks: { ...allForks(), jovian: 2_000_000_000, karst: 2_000_000_000 } }],
    [['karst', 5, 'jovian'], { forks: { ...allForks(), jovian: undefined, karst: 5 } }],
  ])('refuses an invalid %s', (named, change) => {
    const config = { ...good, ...change } as RollupConfig
    expect(() => checkRollupConfig(config)).toThrow(errorWith('usage', ...[named].flat()))
  })

  it('requires no sequencer drift if Fjord is active at genesis', () => {
    expect(() => checkRollupConfig({ ...good, forks: allForks(), maxSequencerDrift: 0 })).not.toThrow()
  })
})

function allForks(): RollupConfig['forks'] {
  return { regolith: 0, canyon: 0, delta: 0, ecotone: 0, fjord: 0, granite: 0, holocene: 0, isthmus: 0, jovian: 0 }
}
