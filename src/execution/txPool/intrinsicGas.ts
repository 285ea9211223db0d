import type { SignedTransaction } from '../chain/types.ts'

const TX_GAS = 21_000n
const TX_GAS_CREATE = 53_000n
const ZERO_BYTE_GAS = 4n
/** EIP-2028. */
const NON_ZERO_BYTE_GAS = 16n
/** EIP-3860, a word of init code. */
const INIT_CODE_WORD_GAS = 2n
/** EIP-2930. */
const ACCESS_LIST_ADDRESS_GAS = 2400n
const ACCESS_LIST_SLOT_GAS = 1900n
/** EIP-7702, an authorization. */
const AUTHORIZATION_GAS = 25_000n
/** EIP-7623, a token; a zero byte is one token, any other four. */
const FLOOR_TOKEN_GAS = 10n

type GasInput = Pick<SignedTransaction, 'to' | 'data' | 'accessList' | 'authorizationList'>

/** Gas that a transaction costs before its first opcode (Yellow Paper section 6.2 and the EIPs above). */
export function intrinsicGas(transaction: GasInput, rules: { canyon: boolean }): bigint {
  const { data, accessList, authorizationList } = transaction
  const isCreate = transaction.to === null
  const zeros = countZeros(data)
  let gas = isCreate ? TX_GAS_CREATE : TX_GAS
  gas += BigInt(zeros) * ZERO_BYTE_GAS + BigInt(data.length - zeros) * NON_ZERO_BYTE_GAS
  if (isCreate && rules.canyon) gas += BigInt(Math.ceil(data.length / 32)) * INIT_CODE_WORD_GAS
  for (const { storageKeys } of accessList) {
    gas += ACCESS_LIST_ADDRESS_GAS + BigInt(storageKeys.length) * ACCESS_LIST_SLOT_GAS
  }
  return gas + BigInt(authorizationList?.length ?? 0) * AUTHORIZATION_GAS
}

/** Least gas a transaction pays for its data (EIP-7623, Isthmus). */
export function floorDataGas(data: Uint8Array): bigint {
  const zeros = countZeros(data)
  return TX_GAS + BigInt(zeros + (data.length - zeros) * 4) * FLOOR_TOKEN_GAS
}

function countZeros(data: Uint8Array): number {
  let zeros = 0
  for (const byte of data) if (byte === 0) zeros++
  return zeros
}
