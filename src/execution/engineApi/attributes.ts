import { invalidParams } from '../../jsonRpc/types.ts'
import { describeError } from '../../lib/errors.ts'
import { isHex } from '../../lib/hex.ts'
import type { JsonObject } from '../../lib/jsonReader.ts'
import { attributesFromJson, type PayloadAttributes } from '../../rollup/protocol/index.ts'
import type { Chain } from '../chain/opChain.ts'
import { engineError } from './errors.ts'

export interface ReadAttributes {
  attributes: PayloadAttributes
  /** Reported only after the forkchoice was applied, as op-geth does. */
  isGasLimitMissing: boolean
}

/**
 * Reads forkchoiceUpdated's second parameter and checks that the method's version fits its timestamp. Throws
 * JsonRpcError with geth's codes.
 */
export function readAttributes(
  json: JsonObject,
  version: 1 | 2 | 3,
  chain: Pick<Chain, 'isForkActive'>,
): ReadAttributes {
  const isGasLimitMissing = json.gasLimit === undefined || json.gasLimit === null
  const attributes = decode(isGasLimitMissing ? { ...json, gasLimit: '0x0' } : json)
  const { timestamp, withdrawals, parentBeaconBlockRoot } = attributes
  const isCanyon = chain.isForkActive('canyon', timestamp)
  const isEcotone = chain.isForkActive('ecotone', timestamp)
  const refuse = (detail: string) => engineError('invalidPayloadAttributes', detail)
  switch (version) {
    case 1:
      if (withdrawals !== undefined || parentBeaconBlockRoot !== undefined) {
        throw engineError('invalidParams', 'withdrawals and beacon root not supported in V1')
      }
      if (isCanyon) throw engineError('invalidParams', 'forkChoiceUpdateV1 called post-shanghai')
      break
    case 2:
      if (parentBeaconBlockRoot !== undefined) throw refuse('unexpected beacon root')
      if (isEcotone) {
        throw engineError('unsupportedFork', 'forkchoiceUpdatedV2 must only be called with paris and shanghai payloads')
      }
      if (isCanyon && withdrawals === undefined) throw refuse('missing withdrawals')
      if (!isCanyon && withdrawals !== undefined) throw refuse('withdrawals before shanghai')
      break
    case 3:
      if (withdrawals === undefined) throw refuse('missing withdrawals')
      if (parentBeaconBlockRoot === undefined) throw refuse('missing beacon root')
      if (!isEcotone) {
        throw engineError('unsupportedFork', 'forkchoiceUpdatedV3 must only be called for cancun/prague payloads')
      }
  }
  if (withdrawals !== undefined && withdrawals.length > 0) throw refuse('withdrawals must be empty on OP Stack chains')
  return { attributes, isGasLimitMissing }
}

/** 8 bytes with 0x. */
const EIP1559_PARAMS_DIGITS = 18

function decode(json: JsonObject): PayloadAttributes {
  const { eip1559Params } = json
  const given = isHex(eip1559Params) ? eip1559Params : undefined
  if (given !== undefined && given.length !== EIP1559_PARAMS_DIGITS) {
    const length = (given.length - 2) / 2
    throw engineError('invalidPayloadAttributes', `holocene eip-1559 params should be 8 bytes, got ${length}`)
  }
  try {
    return attributesFromJson(json)
  } catch (error) {
    throw invalidParams(`invalid argument 1: ${describeError(error)}`)
  }
}
