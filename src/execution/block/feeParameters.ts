import { bytesToBigInt, viewOf } from '../../lib/bytes.ts'
import { fromHex } from '../../lib/hex.ts'
import { L1_BLOCK_ADDRESS } from '../../rollup/protocol/constants.ts'
import type { L1FeeParams } from '../../rollup/protocol/fees/fees.ts'
import { wordToSlot } from '../evm/interpreter/word.ts'
import { storageWord } from '../evm/storageWord.ts'
import type { WorldState } from '../state/worldState.ts'

/** L1 cost parameters in the L1Block contract. */
export interface FeeParameters extends L1FeeParams {
  /** u32; 0 before Isthmus. */
  operatorFeeScalar: number
  /** u64; 0 before Isthmus. */
  operatorFeeConstant: bigint
}

/**
 * Reads the parameters that these rules use; the others are 0. Call it after the block's deposits have run. Unused
 * slots are not read, because a witness of the block would not have them. (Storage layout of L1Block 1.8.0.)
 */
export function readFeeParameters(world: WorldState, rules: { ecotone: boolean; isthmus: boolean }): FeeParameters {
  const word = (slot: number) => fromHex(storageWord(world.storage(L1_BLOCK_ADDRESS, wordToSlot(slot))))
  const scalars = viewOf(word(3))
  const parameters: FeeParameters = {
    baseFee: bytesToBigInt(word(1)),
    blobBaseFee: rules.ecotone ? bytesToBigInt(word(7)) : 0n,
    baseFeeScalar: scalars.getUint32(16),
    blobBaseFeeScalar: scalars.getUint32(20),
    operatorFeeScalar: 0,
    operatorFeeConstant: 0n,
  }
  const { blobBaseFee, baseFeeScalar, blobBaseFeeScalar } = parameters
  // The first Ecotone block still has the earlier parameters.
  if (!rules.ecotone || (blobBaseFee === 0n && baseFeeScalar === 0 && blobBaseFeeScalar === 0)) {
    parameters.overhead = bytesToBigInt(word(5))
    parameters.scalar = bytesToBigInt(word(6))
  }
  if (rules.isthmus) {
    const operator = viewOf(word(8))
    parameters.operatorFeeScalar = operator.getUint32(20)
    parameters.operatorFeeConstant = operator.getBigUint64(24)
  }
  return parameters
}
