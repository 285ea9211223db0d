import { countZeros } from '../../lib/bytes.ts'
import type { Rules } from '../config/chainConfig.ts'
import type { AccessListEntry } from '../primitives/block.ts'

const TX_GAS = 21_000n
const TX_CREATE_GAS = 53_000n
const ZERO_BYTE_GAS = 4n
/** EIP-2028. */
const NONZERO_BYTE_GAS = 16n
/** EIP-2930. */
const ACCESS_LIST_ADDRESS_GAS = 2_400n
const ACCESS_LIST_KEY_GAS = 1_900n
/** EIP-3860. */
const INIT_CODE_WORD_GAS = 2n
/** EIP-3860. */
export const MAX_INIT_CODE_BYTES = 49_152
/** EIP-7825 (Karst): most gas of a signed transaction. Deposits and calls may have more. */
export const MAX_TX_GAS = 16_777_216n
/** EIP-7702. */
const AUTHORIZATION_GAS = 25_000n
/** EIP-7623. */
const FLOOR_GAS_PER_TOKEN = 10n

export interface IntrinsicGasInput {
  isCreation: boolean
  data: Uint8Array
  accessList: readonly AccessListEntry[]
  authorizationCount: number
}

/** Gas charged before execution. */
export function intrinsicGas(tx: IntrinsicGasInput, rules: Pick<Rules, 'canyon'>): bigint {
  const { zeros, others } = countBytes(tx.data)
  let gas = tx.isCreation ? TX_CREATE_GAS : TX_GAS
  gas += BigInt(zeros) * ZERO_BYTE_GAS + BigInt(others) * NONZERO_BYTE_GAS
  if (tx.isCreation && rules.canyon) gas += BigInt(Math.ceil(tx.data.length / 32)) * INIT_CODE_WORD_GAS
  for (const { storageKeys } of tx.accessList) {
    gas += ACCESS_LIST_ADDRESS_GAS + BigInt(storageKeys.length) * ACCESS_LIST_KEY_GAS
  }
  return gas + BigInt(tx.authorizationCount) * AUTHORIZATION_GAS
}

/** EIP-7623 (Isthmus): lowest gas that a transaction with this data pays; 0 before. */
export function floorGas(data: Uint8Array, rules: Pick<Rules, 'isthmus'>): bigint {
  if (!rules.isthmus) return 0n
  const { zeros, others } = countBytes(data)
  return TX_GAS + BigInt(zeros + others * 4) * FLOOR_GAS_PER_TOKEN
}

function countBytes(data: Uint8Array): { zeros: number; others: number } {
  const zeros = countZeros(data)
  return { zeros, others: data.length - zeros }
}
