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
import { slotNames } from './hexNames.ts'
import type { Host } from './host.ts'
import { bytesToWord, type Word, wordToMinimalBytes } from './word.ts'

/** SLOAD. Undefined: out of gas. */
export function loadSlot(frame: Frame, { world, substate }: Host, slot: Word): Word | undefined {
  const key = slotNames.of(slot)
  const isCold = substate.warmSlot(frame.address, key)
  frame.gas -= isCold ? COLD_SLOT_GAS : WARM_GAS
  if (frame.gas < 0) return undefined
  if (isCold) substate.onColdPaid?.(frame.address, key, COLD_SLOT_GAS - WARM_GAS)
  return bytesToWord(world.storage(frame.address, key))
}

/** SSTORE (EIP-2200 with the numbers of EIP-2929 and EIP-3529). False if it failed. */
export function storeSlot(frame: Frame, { world, substate }: Host, slot: Word, value: Word): boolean {
  if (frame.isStatic) return fail(frame, 'STATIC_STATE_CHANGE')
  if (frame.gas <= SSTORE_SENTRY_GAS) return fail(frame, 'OUT_OF_GAS')
  const key = slotNames.of(slot)
  const currentBytes = world.storage(frame.address, key)
  const originalBytes = world.originalStorage(frame.address, key)
  const current = bytesToWord(currentBytes)
  const original = originalBytes === currentBytes ? current : bytesToWord(originalBytes)
  const isCold = substate.warmSlot(frame.address, key)
  let gas = isCold ? COLD_SLOT_GAS : 0
  let refund = 0
  if (value === current) gas += WARM_GAS
  else if (original === current) {
    gas += original === 0 ? SSTORE_SET_GAS : SSTORE_RESET_GAS
    if (original !== 0 && value === 0) refund += SSTORE_CLEAR_REFUND
  } else {
    gas += WARM_GAS
    if (original !== 0 && current === 0) refund -= SSTORE_CLEAR_REFUND
    else if (original !== 0 && value === 0) refund += SSTORE_CLEAR_REFUND
    if (value === original) refund += original === 0 ? SSTORE_UNSET_REFUND : SSTORE_RESTORE_REFUND
  }
  frame.gas -= gas
  if (frame.gas < 0) return fail(frame, 'OUT_OF_GAS')
  if (isCold) substate.onColdPaid?.(frame.address, key, COLD_SLOT_GAS)
  substate.refund += refund
  if (value !== current) world.putStorage(frame.address, key, wordToMinimalBytes(value))
  return true
}
