import { bigIntToBytes, bytesToBigInt } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { type Hex, toHex } from '../../../lib/hex.ts'
import { isForkActive } from '../config/forks.ts'
import {
  decodeExtraData,
  decodeOperatorFeeParams,
  encodeEip1559Params,
  encodeOperatorFeeParams,
  encodeScalar,
} from '../fees/scalars.ts'
import {
  type ExecutionPayload,
  type L1Log,
  type L1Receipt,
  type RollupConfig,
  type SystemConfig,
  ZERO_HASH,
} from '../types.ts'
import { upgradeGasToStrip } from '../upgrade/upgradeTxs.ts'
import { l1InfoOfTransactions } from './l1Info.ts'

/** keccak256("ConfigUpdate(uint256,uint8,bytes)") (specs: system-config, "L1 SystemConfig contract"). */
export const CONFIG_UPDATE_TOPIC: Hex = '0x1d2b0bda21d56b8bd12d4f94ebacffdfb35f5e226f84b461103bb8beab6353be'

const UPDATE_TYPE = {
  batcher: 0,
  feeScalars: 1,
  gasLimit: 2,
  unsafeBlockSigner: 3,
  eip1559Params: 4,
  operatorFee: 5,
  minBaseFee: 6,
  daFootprintGasScalar: 7,
} as const

/**
 * The system config after the ConfigUpdate logs of an L1 block with this time. A malformed log or a log of an unknown
 * type is skipped. Returns the same object if nothing changes.
 */
export function applySystemConfigUpdates(
  systemConfig: SystemConfig,
  receipts: readonly L1Receipt[],
  config: RollupConfig,
  l1Time: number,
): SystemConfig {
  let current = systemConfig
  for (const receipt of receipts) {
    if (!receipt.status) continue
    for (const log of receipt.logs) {
      if (log.address !== config.l1SystemConfigAddress || log.topics[0] !== CONFIG_UPDATE_TOPIC) continue
      try {
        current = applySystemConfigUpdate(current, log, config, l1Time)
      } catch (error) {
        if (!(error instanceof DecodeError)) throw error
      }
    }
  }
  return current
}

/** Applies one ConfigUpdate log. Throws DecodeError if the log is malformed or of an unknown type. */
export function applySystemConfigUpdate(
  systemConfig: SystemConfig,
  log: L1Log,
  config: RollupConfig,
  l1Time: number,
): SystemConfig {
  const type = updateTypeOf(log)
  if (type === UPDATE_TYPE.feeScalars) return applyFeeScalars(systemConfig, log, config, l1Time)
  const [word] = readWords(log, 1)
  switch (type) {
    case UPDATE_TYPE.batcher:
      return { ...systemConfig, batcherAddress: addressOf(word) }
    case UPDATE_TYPE.gasLimit:
      return { ...systemConfig, gasLimit: uintOf(word, 8) }
    case UPDATE_TYPE.unsafeBlockSigner:
      // The signer is read from the contract's storage, not from its logs.
      return systemConfig
    case UPDATE_TYPE.eip1559Params: {
      uintOf(word, 8)
      const params = word.subarray(24)
      const isInvalid = bytesToBigInt(params.subarray(0, 4)) === 0n && bytesToBigInt(params.subarray(4)) !== 0n
      return isInvalid ? systemConfig : { ...systemConfig, eip1559Params: toHex(params) }
    }
    case UPDATE_TYPE.operatorFee: {
      const params = decodeOperatorFeeParams(toHex(word))
      return { ...systemConfig, operatorFeeParams: encodeOperatorFeeParams(params) }
    }
    case UPDATE_TYPE.minBaseFee:
      return { ...systemConfig, minBaseFee: uintOf(word, 8) }
    case UPDATE_TYPE.daFootprintGasScalar:
      return { ...systemConfig, daFootprintGasScalar: Number(uintOf(word, 2)) }
    default:
      throw new DecodeError(`config update: type ${type} is not known`)
  }
}

/**
 * Reads the system config after this L2 block from the block itself (specs: derivation, "System config"). Throws
 * DecodeError.
 */
export function systemConfigFromPayload(payload: ExecutionPayload, config: RollupConfig): SystemConfig {
  const { l2, systemConfig } = config.genesis
  if (payload.blockNumber === l2.number) {
    if (payload.blockHash !== l2.hash)
      throw new DecodeError(`genesis block is ${payload.blockHash}, expected ${l2.hash}`)
    return systemConfig
  }
  const info = l1InfoOfTransactions(payload.transactions)
  const result: SystemConfig = {
    batcherAddress: info.batcherAddress,
    overhead: ZERO_HASH,
    scalar: ZERO_HASH,
    gasLimit: configuredGasLimit(payload, config),
  }
  if (info.format === 'bedrock') {
    result.overhead = wordOf(info.overhead ?? 0n)
    result.scalar = wordOf(info.scalar ?? 0n)
  } else {
    result.scalar = encodeScalar(info)
  }
  if (info.operatorFeeScalar !== undefined && info.operatorFeeConstant !== undefined) {
    result.operatorFeeParams = encodeOperatorFeeParams({
      scalar: info.operatorFeeScalar,
      constant: info.operatorFeeConstant,
    })
  }
  if (info.daFootprintGasScalar !== undefined) result.daFootprintGasScalar = info.daFootprintGasScalar
  const jovian = isForkActive(config, 'jovian', payload.timestamp)
  if (isForkActive(config, 'holocene', payload.timestamp)) {
    const params = decodeExtraData(payload.extraData, jovian ? 'jovian' : 'holocene')
    result.eip1559Params = encodeEip1559Params(params)
    if (params.minBaseFee !== undefined) result.minBaseFee = params.minBaseFee
  }
  return result
}

/**
 * The block's gas limit without the extra gas for its upgrade deposits. The extra gas applies to this block only,
 * except on chains whose history keeps it.
 */
function configuredGasLimit({ gasLimit, timestamp, blockNumber }: ExecutionPayload, config: RollupConfig): bigint {
  const added = upgradeGasToStrip(config, timestamp)
  if (gasLimit < added) {
    throw new DecodeError(`gas limit of L2 block ${blockNumber} is ${gasLimit}, its upgrade alone adds ${added}`)
  }
  return gasLimit - added
}

/** Since Ecotone the overhead has no meaning, and a scalar word that is invalid under Ecotone changes nothing. */
function applyFeeScalars(systemConfig: SystemConfig, log: L1Log, config: RollupConfig, l1Time: number): SystemConfig {
  const [overhead, scalar] = readWords(log, 2)
  if (scalar === undefined) throw new DecodeError('config update: no scalar')
  if (!isForkActive(config, 'ecotone', l1Time)) {
    return { ...systemConfig, overhead: toHex(overhead), scalar: toHex(scalar) }
  }
  return isEcotoneScalar(scalar) ? { ...systemConfig, overhead: ZERO_HASH, scalar: toHex(scalar) } : systemConfig
}

function isEcotoneScalar(word: Uint8Array): boolean {
  const version = word[0]
  if (version !== 0 && version !== 1) return false
  return word.subarray(1, version === 0 ? 28 : 24).every((byte) => byte === 0)
}

function updateTypeOf(log: L1Log): number {
  const [, version, type] = log.topics
  if (log.topics.length !== 3 || version === undefined || type === undefined) {
    throw new DecodeError(`config update: ${log.topics.length} topics, expected 3`)
  }
  if (BigInt(version) !== 0n) throw new DecodeError(`config update: version ${version} is not known`)
  return Number(BigInt(type))
}

/** Reads ABI-encoded `bytes` of exactly `count` words. */
function readWords(log: L1Log, count: number): [Uint8Array, ...Uint8Array[]] {
  const { data } = log
  if (data.length !== 64 + count * 32) throw new DecodeError(`config update: data of ${data.length} bytes`)
  if (bytesToBigInt(data.subarray(0, 32)) !== 32n) throw new DecodeError('config update: data do not begin at byte 32')
  const length = bytesToBigInt(data.subarray(32, 64))
  if (length !== BigInt(count * 32)) throw new DecodeError(`config update: data of length ${length}`)
  const rest = Array.from({ length: count - 1 }, (_, i) => data.subarray(96 + i * 32, 128 + i * 32))
  return [data.subarray(64, 96), ...rest]
}

/** The word as an integer of at most `bytes` bytes. */
function uintOf(word: Uint8Array, bytes: number): bigint {
  const value = bytesToBigInt(word)
  if (value >> BigInt(bytes * 8) !== 0n) throw new DecodeError(`config update: ${value} does not fit ${bytes} bytes`)
  return value
}

function addressOf(word: Uint8Array): Hex {
  uintOf(word, 20)
  return toHex(word.subarray(12))
}

function wordOf(value: bigint): Hex {
  return toHex(bigIntToBytes(value, 32))
}
