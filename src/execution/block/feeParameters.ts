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

/** Reads the parameters; they are those of a block once its deposits have run. */
export function readFeeParameters(world: WorldState): FeeParameters {
  const word = (slot: number) => fromHex(storageWord(world.storage(L1_BLOCK_ADDRESS, slotKey(slot))))
  const scalars = word(3)
  const operator = word(8)
  return {
    l1BaseFee: bytesToBigInt(word(1)),
    blobBaseFee: bytesToBigInt(word(7)),
    baseFeeScalar: bytesToBigInt(scalars.subarray(16, 20)),
    blobBaseFeeScalar: bytesToBigInt(scalars.subarray(20, 24)),
    overhead: bytesToBigInt(word(5)),
    scalar: bytesToBigInt(word(6)),
    operatorFeeScalar: bytesToBigInt(operator.subarray(20, 24)),
    operatorFeeConstant: bytesToBigInt(operator.subarray(24, 32)),
    daFootprintGasScalar: bytesToBigInt(operator.subarray(18, 20)),
  }
}

function slotKey(slot: number): Hex {
  return `0x${slot.toString(16).padStart(64, '0')}`
}
