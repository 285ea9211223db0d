import { type Frame, fail } from './frame.ts'
import {
  COLD_SLOT_GAS,
  SSTORE_CLEAR_REFUND,
  SSTORE_RESET_GAS,
  SSTORE_RESTORE_REFUND,
  SSTORE_SENTRY_GAS,
  SSTORE_SET_GAS,
  SSTORE_UNSET_REFUND,
  WARM_GAS,
} from './gas.ts'
import type { Host } from './host.ts'
import { bytesToWord, type Word, wordToMinimalBytes, wordToSlot } from './word.ts'

/** SLOAD. False: out of gas. */
export function loadSlot(frame: Frame, host: Host, slot: Word): Word | undefined {
  frame.gas -= host.isColdSlot(frame, slot) ? COLD_SLOT_GAS : WARM_GAS
  if (frame.gas < 0) return undefined
  return bytesToWord(host.world.storage(frame.addressHex, wordToSlot(slot)))
}

/** SSTORE (EIP-2200 with the numbers of EIP-2929 and EIP-3529). False: it failed. */
export function storeSlot(frame: Frame, host: Host, slot: Word, value: Word): boolean {
  if (frame.isStatic) return fail(frame, 'STATIC_STATE_CHANGE')
  if (frame.gas <= SSTORE_SENTRY_GAS) return fail(frame, 'OUT_OF_GAS')
  const { world } = host
  const key = wordToSlot(slot)
  const current = bytesToWord(world.storage(frame.addressHex, key))
  const original = bytesToWord(world.originalStorage(frame.addressHex, key))
  let gas = host.isColdSlot(frame, slot) ? COLD_SLOT_GAS : 0
  if (value === current) gas += WARM_GAS
  else if (original === current) {
    gas += original === 0 ? SSTORE_SET_GAS : SSTORE_RESET_GAS
    if (original !== 0 && value === 0) frame.gasRefund += SSTORE_CLEAR_REFUND
  } else {
    gas += WARM_GAS
    if (original !== 0 && current === 0) frame.gasRefund -= SSTORE_CLEAR_REFUND
    else if (original !== 0 && value === 0) frame.gasRefund += SSTORE_CLEAR_REFUND
    if (value === original) frame.gasRefund += original === 0 ? SSTORE_UNSET_REFUND : SSTORE_RESTORE_REFUND
  }
  frame.gas -= gas
  if (frame.gas < 0) return fail(frame, 'OUT_OF_GAS')
  if (value !== current) world.putStorage(frame.addressHex, key, wordToMinimalBytes(value))
  return true
}
