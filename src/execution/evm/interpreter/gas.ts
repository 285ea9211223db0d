// Gas with Berlin's access lists (EIP-2929), London's refunds (EIP-3529) and later. Every OP chain has them.

export const COLD_ACCOUNT_GAS = 2_600
export const COLD_SLOT_GAS = 2_100
export const WARM_GAS = 100
export const SSTORE_SENTRY_GAS = 2_300
export const SSTORE_SET_GAS = 20_000
export const SSTORE_RESET_GAS = 2_900
export const SSTORE_CLEAR_REFUND = 4_800
/** Refund for setting a slot to its value at the start of the transaction. */
export const SSTORE_UNSET_REFUND = SSTORE_SET_GAS - WARM_GAS
export const SSTORE_RESTORE_REFUND = SSTORE_RESET_GAS - WARM_GAS
export const KECCAK_WORD_GAS = 6
export const COPY_WORD_GAS = 3
export const EXP_BYTE_GAS = 50
export const LOG_DATA_GAS = 8
export const CALL_VALUE_GAS = 9_000
export const CALL_STIPEND = 2_300
export const NEW_ACCOUNT_GAS = 25_000
export const CREATE_GAS = 32_000
/** EIP-3860. */
export const INIT_CODE_WORD_GAS = 2
/** Yellow Paper appendix G: memory costs 3 per word plus words² / 512. */
const MEMORY_WORD_GAS = 3
const MEMORY_QUADRATIC_DIVISOR = 512

/** Gas of a whole memory of this many words. */
export function memoryGas(words: number): number {
  return MEMORY_WORD_GAS * words + Math.floor((words * words) / MEMORY_QUADRATIC_DIVISOR)
}
