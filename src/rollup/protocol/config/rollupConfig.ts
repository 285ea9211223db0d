import { DecodeError, UsageError } from '../../../lib/errors.ts'
import type { Hex } from '../../../lib/hex.ts'
import { JsonObjectReader } from '../../../lib/jsonReader.ts'
import {
  type AltDaConfig,
  type BlockId,
  FORKS,
  type Fork,
  type RollupConfig,
  type SystemConfig,
  ZERO_ADDRESS,
  ZERO_HASH,
} from '../types.ts'
import { isForkActive } from './forks.ts'
import { unknownForksOf } from './rollupConfigMembers.ts'

/**
 * Parses a rollup config in op-node's JSON form. Unknown fields are ignored. A missing or malformed field throws
 * DecodeError with its path. `checkRollupConfig` validates the meaning.
 */
export function parseRollupConfig(json: unknown): RollupConfig {
  const top = new JsonObjectReader(json, 'rollup config')
  const genesis = top.object('genesis')
  const config: RollupConfig = {
    genesis: {
      l1: parseBlockId(genesis.object('l1')),
      l2: parseBlockId(genesis.object('l2')),
      l2Time: genesis.integer('l2_time'),
      systemConfig: parseSystemConfig(genesis.object('system_config')),
    },
    blockTime: top.integer('block_time'),
    maxSequencerDrift: top.optionalInteger('max_sequencer_drift') ?? 0,
    seqWindowSize: top.integer('seq_window_size'),
    channelTimeout: top.integer('channel_timeout'),
    l1ChainId: top.bigint('l1_chain_id'),
    l2ChainId: top.bigint('l2_chain_id'),
    ...parseForks(top),
    batchInboxAddress: top.hex('batch_inbox_address', 20),
    depositContractAddress: top.hex('deposit_contract_address', 20),
    l1SystemConfigAddress: top.hex('l1_system_config_address', 20),
  }
  const protocolVersions = top.optionalHex('protocol_versions_address', 20)
  if (protocolVersions !== undefined) config.protocolVersionsAddress = protocolVersions
  const altDa = parseAltDa(top)
  if (altDa !== undefined) config.altDa = altDa
  const chainOp = top.optionalObject('chain_op_config')
  if (chainOp !== undefined) {
    config.chainOpConfig = {
      eip1559Elasticity: chainOp.integer('eip1559Elasticity'),
      eip1559Denominator: chainOp.integer('eip1559Denominator'),
      eip1559DenominatorCanyon: chainOp.optionalInteger('eip1559DenominatorCanyon') ?? 0,
    }
  }
  return config
}

/** op-node's JSON form. Forks that never activate and absent optional members are omitted. */
export function rollupConfigToJson(config: RollupConfig): Record<string, unknown> {
  const { genesis } = config
  const json: Record<string, unknown> = {
    genesis: {
      l1: { hash: genesis.l1.hash, number: genesis.l1.number },
      l2: { hash: genesis.l2.hash, number: genesis.l2.number },
      l2_time: genesis.l2Time,
      system_config: systemConfigToJson(genesis.systemConfig),
    },
    block_time: config.blockTime,
    max_sequencer_drift: config.maxSequencerDrift,
    seq_window_size: config.seqWindowSize,
    channel_timeout: config.channelTimeout,
    l1_chain_id: jsonInteger(config.l1ChainId),
    l2_chain_id: jsonInteger(config.l2ChainId),
  }
  for (const fork of FORKS) {
    const time = config.forks[fork]
    if (time !== undefined) json[`${fork}_time`] = time
    if (fork === 'holocene' && config.pectraBlobScheduleTime !== undefined) {
      json.pectra_blob_schedule_time = config.pectraBlobScheduleTime
    }
  }
  for (const { name, time } of config.unknownForks ?? []) json[`${name}_time`] = time
  if (config.keepKarstUpgradeGas === true) json.keep_karst_upgrade_gas = true
  json.batch_inbox_address = config.batchInboxAddress
  json.deposit_contract_address = config.depositContractAddress
  json.l1_system_config_address = config.l1SystemConfigAddress
  json.protocol_versions_address = config.protocolVersionsAddress ?? ZERO_ADDRESS
  if (config.altDa !== undefined) {
    json.alt_da = {
      da_challenge_contract_address: config.altDa.daChallengeAddress,
      da_commitment_type: config.altDa.daCommitmentType,
      da_challenge_window: config.altDa.daChallengeWindow,
      da_resolve_window: config.altDa.daResolveWindow,
      ...(config.altDa.daMaxInputSize === undefined ? {} : { da_max_input_size: config.altDa.daMaxInputSize }),
    }
  }
  if (config.chainOpConfig !== undefined) json.chain_op_config = { ...config.chainOpConfig }
  return json
}

/** Throws UsageError for the first invalid value, in op-node's order of checks. */
export function checkRollupConfig(config: RollupConfig): void {
  const { genesis } = config
  const { systemConfig } = genesis
  const fail = (message: string): never => {
    throw new UsageError(`rollup config: ${message}`)
  }
  if (config.blockTime === 0) fail('block time cannot be 0')
  if (config.channelTimeout === 0) fail('channel timeout must be set: it should cover at least one L1 block')
  if (config.seqWindowSize < 2) fail('sequencing window size must at least be 2')
  if (config.maxSequencerDrift === 0 && !isForkActive(config, 'fjord', genesis.l2Time)) {
    fail('max sequencer drift must be set before Fjord')
  }
  if (genesis.l1.hash === ZERO_HASH) fail('genesis L1 hash cannot be empty')
  if (genesis.l2.hash === ZERO_HASH) fail('genesis L2 hash cannot be empty')
  if (genesis.l1.hash === genesis.l2.hash) fail('genesis L1 and L2 hashes cannot be the same')
  if (genesis.l2Time === 0) fail('missing L2 genesis time')
  if (systemConfig.batcherAddress === ZERO_ADDRESS) fail('missing genesis system config batcher address')
  if (systemConfig.scalar === ZERO_HASH) fail('missing genesis system config scalar')
  if (systemConfig.gasLimit === 0n) fail('missing genesis system config gas limit')
  if (config.batchInboxAddress === ZERO_ADDRESS) fail('missing batch inbox address')
  if (config.depositContractAddress === ZERO_ADDRESS) fail('missing deposit contract address')
  if (config.l1ChainId <= 0n) fail('L1 chain ID must be non-zero and positive')
  if (config.l2ChainId <= 0n) fail('L2 chain ID must be non-zero and positive')
  if (config.l1ChainId === config.l2ChainId) fail('L1 and L2 chain IDs must be different')
  if (config.altDa !== undefined) checkAltDa(config.altDa, fail)
  checkForkOrder(config, fail)
}

function checkAltDa(altDa: AltDaConfig, fail: (message: string) => never): void {
  const hasAddress = altDa.daChallengeAddress !== ZERO_ADDRESS
  if (altDa.daCommitmentType === 'KeccakCommitment' && !hasAddress)
    fail('Keccak commitments need a DA challenge address')
  if (altDa.daCommitmentType === 'GenericCommitment' && hasAddress)
    fail('generic commitments need an empty DA challenge address')
  if (altDa.daChallengeWindow === 0) fail('missing DAChallengeWindow')
  if (altDa.daResolveWindow === 0) fail('missing DAResolveWindow')
  if (altDa.daMaxInputSize === 0) fail('da_max_input_size must be greater than 0')
}

function checkForkOrder(config: RollupConfig, fail: (message: string) => never): void {
  let previous: Fork | undefined
  for (const fork of FORKS) {
    const time = config.forks[fork]
    if (previous !== undefined && time !== undefined) {
      const previousTime = config.forks[previous]
      if (previousTime === undefined) fail(`fork ${fork} set (to ${time}), but prior fork ${previous} missing`)
      else if (previousTime > time) {
        fail(`fork ${fork} set to ${time}, but prior fork ${previous} has higher offset ${previousTime}`)
      } else if (previousTime === time && time > config.genesis.l2Time && needsOwnTime(fork)) {
        fail(`fork ${fork} must activate after its prior fork ${previous}, but both are set to ${time}`)
      }
    }
    previous = fork
  }
}

/**
 * op-node v1.19.8: since Jovian, only forks that are active at genesis may activate together with the previous fork.
 */
function needsOwnTime(fork: Fork): boolean {
  return FORKS.indexOf(fork) >= FORKS.indexOf('jovian')
}

export function parseBlockId(reader: JsonObjectReader): BlockId {
  return { hash: reader.hex('hash', 32), number: reader.integer('number') }
}

/** kona writes `batcherAddress`, op-node writes `batcherAddr`. */
export function parseSystemConfig(reader: JsonObjectReader): SystemConfig {
  const config: SystemConfig = {
    batcherAddress: reader.optionalHex('batcherAddress', 20) ?? reader.hex('batcherAddr', 20),
    overhead: reader.optionalHex('overhead', 32) ?? ZERO_HASH,
    scalar: reader.hex('scalar', 32),
    gasLimit: reader.bigint('gasLimit'),
  }
  const eip1559Params = reader.optionalHex('eip1559Params', 8)
  if (eip1559Params !== undefined) config.eip1559Params = eip1559Params
  const operatorFeeParams = reader.optionalHex('operatorFeeParams', 32)
  if (operatorFeeParams !== undefined) config.operatorFeeParams = operatorFeeParams
  const minBaseFee = reader.optionalBigint('minBaseFee')
  if (minBaseFee !== undefined) config.minBaseFee = minBaseFee
  const daFootprintGasScalar = reader.optionalInteger('daFootprintGasScalar')
  if (daFootprintGasScalar !== undefined) config.daFootprintGasScalar = daFootprintGasScalar
  return config
}

/** op-node's JSON form of a system config. */
export function systemConfigToJson(config: SystemConfig): Record<string, unknown> {
  const json: Record<string, unknown> = {
    batcherAddr: config.batcherAddress,
    overhead: config.overhead,
    scalar: config.scalar,
    gasLimit: jsonInteger(config.gasLimit),
  }
  if (config.eip1559Params !== undefined) json.eip1559Params = config.eip1559Params
  if (config.operatorFeeParams !== undefined) json.operatorFeeParams = config.operatorFeeParams
  if (config.minBaseFee !== undefined) json.minBaseFee = jsonInteger(config.minBaseFee)
  if (config.daFootprintGasScalar !== undefined) json.daFootprintGasScalar = config.daFootprintGasScalar
  return json
}

/** The fork times and the two settings beside them, which the superchain registry keeps in an object of their own. */
export function parseForks(
  top: JsonObjectReader,
): Pick<RollupConfig, 'forks' | 'unknownForks' | 'pectraBlobScheduleTime' | 'keepKarstUpgradeGas'> {
  const forks: RollupConfig['forks'] = {}
  for (const fork of FORKS) {
    const time = top.optionalInteger(`${fork}_time`)
    if (time !== undefined) forks[fork] = time
  }
  // An older name of the same fork.
  const interop = top.optionalInteger('interop_time')
  if (forks.lagoon === undefined && interop !== undefined) forks.lagoon = interop
  const pectraBlobScheduleTime = top.optionalInteger('pectra_blob_schedule_time')
  const unknownForks = unknownForksOf(top)
  return {
    forks,
    ...(unknownForks.length === 0 ? {} : { unknownForks }),
    ...(pectraBlobScheduleTime === undefined ? {} : { pectraBlobScheduleTime }),
    ...(top.optionalBoolean('keep_karst_upgrade_gas') === true ? { keepKarstUpgradeGas: true } : {}),
  }
}

/** Reads the `alt_da` object, or the older flat fields (`use_plasma`, `da_…`). */
export function parseAltDa(top: JsonObjectReader): AltDaConfig | undefined {
  const nested = top.optionalObject('alt_da')
  if (nested !== undefined) {
    const maxInputSize = nested.optionalInteger('da_max_input_size')
    return {
      daChallengeAddress: nested.optionalHex('da_challenge_contract_address', 20) ?? ZERO_ADDRESS,
      daCommitmentType: commitmentType(nested.optionalString('da_commitment_type')),
      daChallengeWindow: nested.optionalInteger('da_challenge_window') ?? 0,
      daResolveWindow: nested.optionalInteger('da_resolve_window') ?? 0,
      ...(maxInputSize === undefined ? {} : { daMaxInputSize: maxInputSize }),
    }
  }
  if (top.optionalBoolean('use_plasma') !== true) return undefined
  const address: Hex = top.optionalHex('da_challenge_address', 20) ?? ZERO_ADDRESS
  return {
    daChallengeAddress: address,
    daCommitmentType: address === ZERO_ADDRESS ? 'GenericCommitment' : 'KeccakCommitment',
    daChallengeWindow: top.optionalInteger('da_challenge_window') ?? 0,
    daResolveWindow: top.optionalInteger('da_resolve_window') ?? 0,
  }
}

function commitmentType(text: string | undefined): AltDaConfig['daCommitmentType'] {
  if (text === undefined || text === 'KeccakCommitment') return 'KeccakCommitment'
  if (text === 'GenericCommitment') return text
  throw new DecodeError(`rollup config.alt_da.da_commitment_type: "${text}" is not known`)
}

/** A JSON number if JavaScript can represent it exactly, else decimal text. */
function jsonInteger(value: bigint): number | string {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : value.toString()
}
