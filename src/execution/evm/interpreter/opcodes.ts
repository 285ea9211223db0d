import type { Hex } from '../../../lib/hex.ts'
import { isEmptyAccount } from '../../state/account.ts'
import { type Frame, fail } from './frame.ts'
import { COLD_ACCOUNT_GAS, COPY_WORD_GAS, LOG_DATA_GAS, WARM_GAS } from './gas.ts'
import { addressNames } from './hexNames.ts'
import type { Host } from './host.ts'
import { bytesToWord, toWord, type Word, wordToSlot } from './word.ts'

// Opcodes that read the block, accounts or call data, and logs.

/** Opcodes from 0x30 to 0x4f that only push a word. */
export function environment(frame: Frame, host: Host, opcode: number): Word {
  switch (opcode) {
    case 0x30:
      return frame.addressWord()
    case 0x32:
      return host.origin
    case 0x33:
      return frame.callerWord()
    case 0x34:
      return frame.value
    case 0x36:
      return frame.data.length
    case 0x38:
      return frame.program.code.length
    case 0x3a:
      return host.gasPrice
    case 0x3d:
      return frame.returned.length
    case 0x41:
      return host.coinbase
    case 0x42:
      return host.timestamp
    case 0x43:
      return host.number
    case 0x44:
      return host.prevRandao
    case 0x45:
      return host.gasLimit
    case 0x46:
      return host.chainId
    case 0x47:
      return toWord(host.world.balance(frame.address))
    case 0x48:
      return host.baseFee
    case 0x4a:
      return host.blobBaseFee
    default:
      throw new Error(`opcode ${opcode} has a price but no meaning`)
  }
}

/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH. */
export function account(frame: Frame, host: Host, opcode: number, word: Word): boolean {
  const { stack, sp } = frame
  const address = addressNames.of(word)
  const isCold = host.substate.warmAddress(address)
  frame.gas -= isCold ? COLD_ACCOUNT_GAS : WARM_GAS
  if (frame.gas < 0) return fail(frame, 'OUT_OF_GAS')
  if (isCold) host.substate.onColdPaid?.(address, undefined, COLD_ACCOUNT_GAS - WARM_GAS)
  if (opcode === 0x31) stack[sp - 1] = toWord(host.world.balance(address))
  else if (opcode === 0x3b) stack[sp - 1] = host.world.code(address).length
  else if (opcode === 0x3f) {
    const record = host.world.account(address)
    stack[sp - 1] = record === undefined || isEmptyAccount(record) ? 0 : bytesToWord(record.codeHash)
  } else {
    const target = stack[sp - 2] ?? 0
    const from = stack[sp - 3] ?? 0
    const size = stack[sp - 4] ?? 0
    frame.sp -= 4
    if (!payForCopy(frame, target, size, COPY_WORD_GAS)) return false
    frame.copy(target, host.world.code(address), from, size)
  }
  return true
}

/** Pays for memory and for each word of data, and expands the memory. */
export function payForCopy(frame: Frame, offset: Word, size: Word, wordGas: number): boolean {
  const isPaid = typeof size === 'number' && frame.expand(offset, size, wordGas * Math.ceil(size / 32))
  return isPaid || fail(frame, 'OUT_OF_GAS')
}

export function log(frame: Frame, { substate, tracer }: Host, topicCount: number): boolean {
  if (frame.isStatic) return fail(frame, 'STATIC_STATE_CHANGE')
  const offset = frame.pop()
  const size = frame.pop()
  const isPaid = typeof size === 'number' && frame.expand(offset, size, LOG_DATA_GAS * size)
  if (!isPaid) return fail(frame, 'OUT_OF_GAS')
  const topics: Hex[] = []
  for (let i = 0; i < topicCount; i++) topics.push(wordToSlot(frame.pop()))
  const entry = { address: frame.address, topics, data: frame.slice(offset, size) }
  substate.logs.push(entry)
  tracer?.onLog?.(entry)
  return true
}
