import { countZeros } from '../../lib/bytes.ts'
import type { Hex } from '../../lib/hex.ts'
import type { Rules } from '../config/chainConfig.ts'
import type { AccessListEntry, Authorization } from '../primitives/block.ts'
import type { MessageResult } from './message.ts'

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
/** EIP-3529. */
const MAX_REFUND_QUOTIENT = 5n

/** The parts of a transaction that determine its intrinsic gas. */
interface Charged {
  /** null: creation. */
  to: Hex | null
  data: Uint8Array
  accessList?: readonly AccessListEntry[]
  authorizationList?: readonly Authorization[] | undefined
}

export interface StartGas {
  /** Charged before execution. */
  intrinsic: bigint
  /** EIP-7623 (Isthmus): lowest gas that a transaction with this data pays; 0 before. */
  floor: bigint
}

export function startGas(
  { to, data, accessList = [], authorizationList = [] }: Charged,
  rules: Pick<Rules, 'canyon' | 'isthmus'>,
): StartGas {
  const zeros = countZeros(data)
  const others = data.length - zeros
  let intrinsic = to === null ? TX_CREATE_GAS : TX_GAS
  intrinsic += BigInt(zeros) * ZERO_BYTE_GAS + BigInt(others) * NONZERO_BYTE_GAS
  if (to === null && rules.canyon) intrinsic += BigInt(Math.ceil(data.length / 32)) * INIT_CODE_WORD_GAS
  for (const { storageKeys } of accessList) {
    intrinsic += ACCESS_LIST_ADDRESS_GAS + BigInt(storageKeys.length) * ACCESS_LIST_KEY_GAS
  }
  intrinsic += BigInt(authorizationList.length) * AUTHORIZATION_GAS
  const floor = rules.isthmus ? TX_GAS + BigInt(zeros + others * 4) * FLOOR_GAS_PER_TOKEN : 0n
  return { intrinsic, floor }
}

/** Checks that a transaction or call has the gas and the size to start. `refusal` makes the error of geth's message. */
export function checkStart(
  charged: Charged,
  gas: bigint,
  rules: Pick<Rules, 'canyon' | 'isthmus'>,
  refusal: (problem: 'intrinsic-gas' | 'floor-gas' | 'init-code-size', message: string) => Error,
): StartGas {
  const { intrinsic, floor } = startGas(charged, rules)
  const { length } = charged.data
  if (gas < intrinsic) throw refusal('intrinsic-gas', `intrinsic gas too low: have ${gas}, want ${intrinsic}`)
  if (gas < floor) throw refusal('floor-gas', `insufficient gas for floor data gas cost: have ${gas}, want ${floor}`)
  if (charged.to === null && rules.canyon && length > MAX_INIT_CODE_BYTES) {
    const text = `max initcode size exceeded: code size ${length} limit ${MAX_INIT_CODE_BYTES}`
    throw refusal('init-code-size', text)
  }
  return { intrinsic, floor }
}

export interface SettledGas {
  /** After refunds, and at least the floor. */
  gasUsed: bigint
  /** Before refunds, and at least the floor. */
  maxUsedGas: bigint
  /** At most a fifth of the gas used (EIP-3529). */
  refund: bigint
}

export function settleGas(
  { intrinsic, floor }: StartGas,
  result: Pick<MessageResult, 'gasUsed' | 'refund'>,
): SettledGas {
  const used = intrinsic + result.gasUsed
  const cap = used / MAX_REFUND_QUOTIENT
  const refund = result.refund < cap ? result.refund : cap
  const atLeastFloor = (gas: bigint) => (gas < floor ? floor : gas)
  return { gasUsed: atLeastFloor(used - refund), maxUsedGas: atLeastFloor(used), refund }
}
