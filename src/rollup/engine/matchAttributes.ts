import { equalBytes, viewOf } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { DEFAULT_BASE_FEE_CONSTANTS, EMPTY_TRIE_ROOT, encodeEip1559Params, isForkActive } from '../protocol/index.ts'
import type { ExecutionPayload, PayloadAttributes, PayloadEnvelope, RollupConfig } from '../protocol/types.ts'

/**
 * The first difference between an existing block and the block that the attributes would give on `parentHash`;
 * undefined if there is none. State and receipts follow from the inputs, so they are not compared (specs: derivation,
 * "L1-consolidation").
 */
export function findMismatch(
  attributes: PayloadAttributes,
  parentHash: Hex,
  block: PayloadEnvelope,
  config: RollupConfig,
): string | undefined {
  const { payload } = block
  const members = [
    ['parent hash', payload.parentHash, parentHash],
    ['timestamp', payload.timestamp, attributes.timestamp],
    ['prevRandao', payload.prevRandao, attributes.prevRandao],
    ['fee recipient', payload.feeRecipient, attributes.suggestedFeeRecipient],
    ['gas limit', payload.gasLimit, attributes.gasLimit],
    ['parent beacon block root', block.parentBeaconBlockRoot, attributes.parentBeaconBlockRoot],
  ] as const
  for (const [name, actual, expected] of members) {
    if (actual !== expected) return `${name}: block has ${actual}, expected ${expected}`
  }
  return (
    transactionsMismatch(attributes.transactions, payload.transactions) ??
    withdrawalsMismatch(attributes, payload, config) ??
    feeParamsMismatch(attributes, payload, config)
  )
}

function transactionsMismatch(expected: readonly Uint8Array[], actual: readonly Uint8Array[]): string | undefined {
  if (expected.length !== actual.length) return `transactions: block has ${actual.length}, expected ${expected.length}`
  const index = expected.findIndex((bytes, at) => !equalBytes(bytes, actual[at] ?? new Uint8Array(0)))
  return index === -1 ? undefined : `transaction ${index} differs`
}

function withdrawalsMismatch(
  attributes: PayloadAttributes,
  payload: ExecutionPayload,
  config: RollupConfig,
): string | undefined {
  if (!isForkActive(config, 'canyon', payload.timestamp)) {
    if (attributes.withdrawals !== undefined || payload.withdrawals !== undefined) return 'withdrawals before Canyon'
    return undefined
  }
  if (attributes.withdrawals === undefined || payload.withdrawals === undefined) return 'withdrawals are missing'
  if (attributes.withdrawals.length > 0 || payload.withdrawals.length > 0) return 'withdrawals are not empty'
  if (isForkActive(config, 'isthmus', payload.timestamp)) {
    return payload.withdrawalsRoot === undefined ? 'withdrawals root is missing' : undefined
  }
  if (payload.withdrawalsRoot !== undefined && payload.withdrawalsRoot !== EMPTY_TRIE_ROOT) {
    return `withdrawals root: block has ${payload.withdrawalsRoot} before Isthmus`
  }
  return undefined
}

/** extraData contains the parameters: Holocene `00 ‖ denominator ‖ elasticity`, Jovian `01 ‖ … ‖ minBaseFee u64`. */
function feeParamsMismatch(
  attributes: PayloadAttributes,
  payload: ExecutionPayload,
  config: RollupConfig,
): string | undefined {
  const extraData = fromHex(payload.extraData)
  if (!isForkActive(config, 'holocene', payload.timestamp)) {
    if (attributes.eip1559Params !== undefined) return 'EIP-1559 parameters before Holocene'
    return extraData.length === 0 ? undefined : `extra data: block has ${payload.extraData} before Holocene`
  }
  if (attributes.eip1559Params === undefined) return 'EIP-1559 parameters are missing'
  const jovian = isForkActive(config, 'jovian', payload.timestamp)
  if (extraData.length !== (jovian ? 17 : 9) || extraData[0] !== (jovian ? 1 : 0)) {
    return `extra data: block has ${payload.extraData}, not in the format of this fork`
  }
  const actual = toHex(extraData.subarray(1, 9))
  const expected = effectiveFeeParams(attributes.eip1559Params, config)
  if (actual !== expected) return `EIP-1559 parameters: block has ${actual}, expected ${expected}`
  if (!jovian) return attributes.minBaseFee === undefined ? undefined : 'minimum base fee before Jovian'
  if (attributes.minBaseFee === undefined) return 'minimum base fee is missing'
  const minBaseFee = viewOf(extraData).getBigUint64(9)
  return minBaseFee === attributes.minBaseFee
    ? undefined
    : `minimum base fee: block has ${minBaseFee}, expected ${attributes.minBaseFee}`
}

/** Zero parameters mean the chain's Canyon constants (specs: holocene/exec-engine, "EIP-1559 Parameter Encoding"). */
function effectiveFeeParams(params: Hex, config: RollupConfig): Hex {
  if (params !== '0x0000000000000000') return params
  const { eip1559DenominatorCanyon, eip1559Elasticity } = config.chainOpConfig ?? {}
  return encodeEip1559Params({
    denominator: eip1559DenominatorCanyon ?? DEFAULT_BASE_FEE_CONSTANTS.denominatorCanyon,
    elasticity: eip1559Elasticity ?? DEFAULT_BASE_FEE_CONSTANTS.elasticity,
  })
}
