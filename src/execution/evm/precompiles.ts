import type { Common } from '@ethereumjs/common'
import {
  type CustomPrecompile,
  EVMError,
  type ExecResult,
  getActivePrecompiles,
  type PrecompileFunc,
  type PrecompileInput,
} from '@ethereumjs/evm'
import { createAddressFromString } from '@ethereumjs/util'
import { p256 } from '@noble/curves/nist.js'
import { concatBytes, EMPTY_BYTES } from '../../lib/bytes.ts'
import type { Rules } from '../chain/chainConfig.ts'
import { verifyPointEvaluation } from './pointEvaluation.ts'

const ADDRESS = {
  pointEvaluation: '0x000000000000000000000000000000000000000a',
  bn256Pairing: '0x0000000000000000000000000000000000000008',
  blsG1Msm: '0x000000000000000000000000000000000000000c',
  blsG2Msm: '0x000000000000000000000000000000000000000e',
  blsPairing: '0x000000000000000000000000000000000000000f',
  p256Verify: '0x0000000000000000000000000000000000000100',
} as const

type Limits = Partial<Record<'bn256Pairing' | 'blsG1Msm' | 'blsG2Msm' | 'blsPairing', number>>

/** Longest inputs in bytes (specs: granite, isthmus, jovian and karst exec-engine pages, "Precompiles"). */
const LIMITS = {
  granite: { bn256Pairing: 112_687 },
  isthmus: { bn256Pairing: 112_687, blsG1Msm: 513_760, blsG2Msm: 488_448, blsPairing: 235_008 },
  jovian: { bn256Pairing: 81_984, blsG1Msm: 288_960, blsG2Msm: 278_784, blsPairing: 156_672 },
  karst: { bn256Pairing: 57_600, blsG1Msm: 288_960, blsG2Msm: 278_784, blsPairing: 156_672 },
} satisfies Record<string, Limits>

function limitsOf(rules: Rules): Limits {
  if (rules.karst) return LIMITS.karst
  if (rules.jovian) return LIMITS.jovian
  if (rules.isthmus) return LIMITS.isthmus
  return rules.granite ? LIMITS.granite : {}
}

/** What OP forks change of Ethereum's precompiles. */
export function opPrecompiles(common: Common, rules: Rules): CustomPrecompile[] {
  const ethereum = getActivePrecompiles(common)
  const changed: CustomPrecompile[] = []
  const add = (address: string, run: PrecompileFunc) =>
    changed.push({ address: createAddressFromString(address), function: run })
  if (rules.ecotone) add(ADDRESS.pointEvaluation, pointEvaluation)
  if (rules.fjord) add(ADDRESS.p256Verify, p256Verify(rules.karst ? KARST_P256_VERIFY_GAS : P256_VERIFY_GAS))
  const limits = limitsOf(rules)
  for (const name of ['bn256Pairing', 'blsG1Msm', 'blsG2Msm', 'blsPairing'] as const) {
    const limit = limits[name]
    const original = ethereum.get(ADDRESS[name].slice(2))
    if (limit !== undefined && original !== undefined) add(ADDRESS[name], withInputLimit(original, limit))
  }
  return changed
}

function withInputLimit(original: PrecompileFunc, limit: number): PrecompileFunc {
  return (input) => (input.data.length > limit ? failure(input, 'INVALID_INPUT_LENGTH') : original(input))
}

/** A failing precompile takes all gas it was given. */
function failure(input: PrecompileInput, error: keyof typeof EVMError.errorMessages): ExecResult {
  return {
    returnValue: EMPTY_BYTES,
    executionGasUsed: input.gasLimit,
    exceptionError: new EVMError(EVMError.errorMessages[error]),
  }
}

/** RIP-7212. */
const P256_VERIFY_GAS = 3450n
/** EIP-7951. */
const KARST_P256_VERIFY_GAS = 6900n
const TRUE_WORD = concatBytes(new Uint8Array(31), Uint8Array.of(1))

function p256Verify(gas: bigint): PrecompileFunc {
  return (input) => {
    if (input.gasLimit < gas) return failure(input, 'OUT_OF_GAS')
    const valid = input.data.length === 160 && isP256Signature(input.data)
    return { executionGasUsed: gas, returnValue: valid ? TRUE_WORD : EMPTY_BYTES }
  }
}

/** hash ‖ r ‖ s ‖ x ‖ y, 32 bytes each. */
function isP256Signature(data: Uint8Array): boolean {
  const publicKey = concatBytes(Uint8Array.of(4), data.subarray(96, 160))
  try {
    const options = { prehash: false, lowS: false, format: 'compact' } as const
    return p256.verify(data.subarray(32, 96), data.subarray(0, 32), publicKey, options)
  } catch {
    // Values out of range or a point that is not on the curve.
    return false
  }
}

/** EIP-4844. */
const POINT_EVALUATION_GAS = 50_000n

function pointEvaluation(input: PrecompileInput): ExecResult {
  if (input.gasLimit < POINT_EVALUATION_GAS) return failure(input, 'OUT_OF_GAS')
  const output = verifyPointEvaluation(input.data)
  if (output === undefined) return failure(input, 'INVALID_PROOF')
  return { executionGasUsed: POINT_EVALUATION_GAS, returnValue: output }
}
