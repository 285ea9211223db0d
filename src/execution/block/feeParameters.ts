import { bytesToBigInt } from '../../lib/bytes.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { L1_BLOCK_ADDRESS } from '../../rollup/protocol/constants.ts'
import { storageWord } from '../evm/evmState.ts'
import type { WorldState } from '../state/worldState.ts'

/** L1 cost parameters as the L1Block contract holds them (storage layout of L1Block 1.8.0). */
export interface FeeParameters {
  /** Wei. */
  l1BaseFee: bigint
  /** Wei; 0 before Ecotone. */
  blobBaseFee: bigint
  baseFeeScalar: bigint
  blobBaseFeeScalar: bigint
  /** Before Ecotone. */
  overhead: bigint
  /** Before Ecotone. */
  scalar: bigint
  operatorFeeScalar: bigint
  operatorFeeConstant: bigint
  daFootprintGasScalar: bigint
}

/**
 * Reads the parameters that count under these rules, the others are 0; they are those of a block once its deposits have
 * run. Slots that do not count are not read: a witness of the block would not have them.
 */
export function readFeeParameters(world: WorldState, rules: { ecotone: boolean; isthmus: boolean }): FeeParameters {
  const word = (slot: number) => fromHex(storageWord(world.storage(L1_BLOCK_ADDRESS, slotKey(slot))))
  const scalars = word(3)
  const parameters: FeeParameters = {
    l1BaseFee: bytesToBigInt(word(1)),
    blobBaseFee: rules.ecotone ? bytesToBigInt(word(7)) : 0n,
    baseFeeScalar: bytesToBigInt(scalars.subarray(16, 20)),
    blobBaseFeeScalar: bytesToBigInt(scalars.subarray(20, 24)),
    overhead: 0n,
    scalar: 0n,
    operatorFeeScalar: 0n,
    operatorFeeConstant: 0n,
    daFootprintGasScalar: 0n,
  }
  const { blobBaseFee, baseFeeScalar, blobBaseFeeScalar } = parameters
  // The first Ecotone block still has the parameters of before.
  if (!rules.ecotone || (blobBaseFee === 0n && baseFeeScalar === 0n && blobBaseFeeScalar === 0n)) {
    parameters.overhead = bytesToBigInt(word(5))
    parameters.scalar = bytesToBigInt(word(6))
  }
  if (rules.isthmus) {
    const operator = word(8)
    parameters.operatorFeeScalar = bytesToBigInt(operator.subarray(20, 24))
    parameters.operatorFeeConstant = bytesToBigInt(operator.subarray(24, 32))
    parameters.daFootprintGasScalar = bytesToBigInt(operator.subarray(18, 20))
  }
  return parameters
}

function slotKey(slot: number): Hex {
  return `0x${slot.toString(16).padStart(64, '0')}`
}
