import type { Rules } from '../../config/chainConfig.ts'

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
export const SELFDESTRUCT_GAS = 5_000
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

/** Stack effect and constant price of each opcode. */
export interface OpcodeTable {
  /** −1: no such opcode. */
  gas: Int32Array
  /** Words taken from the stack. */
  takes: Uint8Array
  /** Change of the stack height. */
  delta: Int8Array
}

type Entry = readonly [opcode: number, gas: number, takes: number, gives: number]

const ENTRIES: readonly Entry[] = [
  [0x00, 0, 0, 0],
  [0x01, 3, 2, 1],
  [0x02, 5, 2, 1],
  [0x03, 3, 2, 1],
  [0x04, 5, 2, 1],
  [0x05, 5, 2, 1],
  [0x06, 5, 2, 1],
  [0x07, 5, 2, 1],
  [0x08, 8, 3, 1],
  [0x09, 8, 3, 1],
  [0x0a, 10, 2, 1],
  [0x0b, 5, 2, 1],
  [0x10, 3, 2, 1],
  [0x11, 3, 2, 1],
  [0x12, 3, 2, 1],
  [0x13, 3, 2, 1],
  [0x14, 3, 2, 1],
  [0x15, 3, 1, 1],
  [0x16, 3, 2, 1],
  [0x17, 3, 2, 1],
  [0x18, 3, 2, 1],
  [0x19, 3, 1, 1],
  [0x1a, 3, 2, 1],
  [0x1b, 3, 2, 1],
  [0x1c, 3, 2, 1],
  [0x1d, 3, 2, 1],
  [0x20, 30, 2, 1],
  [0x30, 2, 0, 1],
  [0x31, 0, 1, 1],
  [0x32, 2, 0, 1],
  [0x33, 2, 0, 1],
  [0x34, 2, 0, 1],
  [0x35, 3, 1, 1],
  [0x36, 2, 0, 1],
  [0x37, 3, 3, 0],
  [0x38, 2, 0, 1],
  [0x39, 3, 3, 0],
  [0x3a, 2, 0, 1],
  [0x3b, 0, 1, 1],
  [0x3c, 0, 4, 0],
  [0x3d, 2, 0, 1],
  [0x3e, 3, 3, 0],
  [0x3f, 0, 1, 1],
  [0x40, 20, 1, 1],
  [0x41, 2, 0, 1],
  [0x42, 2, 0, 1],
  [0x43, 2, 0, 1],
  [0x44, 2, 0, 1],
  [0x45, 2, 0, 1],
  [0x46, 2, 0, 1],
  [0x47, 5, 0, 1],
  [0x48, 2, 0, 1],
  [0x50, 2, 1, 0],
  [0x51, 3, 1, 1],
  [0x52, 3, 2, 0],
  [0x53, 3, 2, 0],
  [0x54, 0, 1, 1],
  [0x55, 0, 2, 0],
  [0x56, 8, 1, 0],
  [0x57, 10, 2, 0],
  [0x58, 2, 0, 1],
  [0x59, 2, 0, 1],
  [0x5a, 2, 0, 1],
  [0x5b, 1, 0, 0],
  [0xf0, CREATE_GAS, 3, 1],
  [0xf1, 0, 7, 1],
  [0xf2, 0, 7, 1],
  [0xf3, 0, 2, 0],
  [0xf4, 0, 6, 1],
  [0xf5, CREATE_GAS, 4, 1],
  [0xfa, 0, 6, 1],
  [0xfd, 0, 2, 0],
  [0xff, SELFDESTRUCT_GAS, 1, 0],
]

/** EIP-3855. */
const CANYON_ENTRIES: readonly Entry[] = [[0x5f, 2, 0, 1]]
/** EIP-1153, EIP-4844, EIP-5656, EIP-7516. */
const ECOTONE_ENTRIES: readonly Entry[] = [
  [0x49, 3, 1, 1],
  [0x4a, 2, 0, 1],
  [0x5c, 100, 1, 1],
  [0x5d, 100, 2, 0],
  [0x5e, 3, 3, 0],
]

/** EIP-7939. */
const KARST_ENTRIES: readonly Entry[] = [[0x1e, 5, 1, 1]]

export function opcodeTable(rules: Pick<Rules, 'canyon' | 'ecotone' | 'karst'>): OpcodeTable {
  const table: OpcodeTable = {
    gas: new Int32Array(256).fill(-1),
    takes: new Uint8Array(256),
    delta: new Int8Array(256),
  }
  const add = ([opcode, gas, takes, gives]: Entry) => {
    table.gas[opcode] = gas
    table.takes[opcode] = takes
    table.delta[opcode] = gives - takes
  }
  for (const entry of ENTRIES) add(entry)
  for (let n = 1; n <= 32; n++) add([0x5f + n, 3, 0, 1])
  for (let n = 1; n <= 16; n++) add([0x7f + n, 3, n, n + 1])
  for (let n = 1; n <= 16; n++) add([0x8f + n, 3, n + 1, n + 1])
  for (let n = 0; n <= 4; n++) add([0xa0 + n, 375 * (n + 1), n + 2, 0])
  if (rules.canyon) for (const entry of CANYON_ENTRIES) add(entry)
  if (rules.ecotone) for (const entry of ECOTONE_ENTRIES) add(entry)
  if (rules.karst) for (const entry of KARST_ENTRIES) add(entry)
  return table
}
