import { keccak256 } from '../../../lib/hash.ts'
import { type Frame, fail } from './frame.ts'
import {
  COLD_ACCOUNT_GAS,
  COPY_WORD_GAS,
  EXP_BYTE_GAS,
  KECCAK_WORD_GAS,
  LOG_DATA_GAS,
  type OpcodeTable,
  WARM_GAS,
} from './gas.ts'
import type { Host } from './host.ts'
import { loadSlot, storeSlot } from './storage.ts'
import * as words from './word.ts'
import { bytesToWord, readWord, type Word, wordToAddress, wordToBytes, writeWord } from './word.ts'

/** Why the loop came back. `call`: at a CALL, CREATE or SELFDESTRUCT opcode, price of the opcode itself paid. */
export type Exit = 'done' | 'reverted' | 'failed' | 'call' | 'turn'

/** Jump destinations passed before the event loop is thought of. */
const JUMPS_PER_TURN = 2_000
const MAX_STACK = 1024

/** Runs the program until it ends or needs what is not synchronous. */
export function runLoop(frame: Frame, host: Host): Exit {
  const { stack, program, data } = frame
  const { code, jumpDestinations, pushes } = program
  const { gas: prices, takes, delta }: OpcodeTable = host.table
  let turn = JUMPS_PER_TURN
  let { pc } = frame
  const failed = (): Exit => {
    frame.pc = pc
    return 'failed'
  }
  while (pc < code.length) {
    const opcode = code[pc] ?? 0
    const price = prices[opcode] ?? -1
    const height = stack.length
    if (price < 0) {
      fail(frame, 'INVALID_OPCODE')
      return failed()
    }
    if (height < (takes[opcode] ?? 0)) {
      fail(frame, 'STACK_UNDERFLOW')
      return failed()
    }
    if (height + (delta[opcode] ?? 0) > MAX_STACK) {
      fail(frame, 'STACK_OVERFLOW')
      return failed()
    }
    frame.gas -= price
    if (frame.gas < 0) {
      fail(frame, 'OUT_OF_GAS')
      return failed()
    }
    if (opcode >= 0x60) {
      if (opcode <= 0x7f) {
        stack.push(pushes[pc] ?? 0)
        pc += opcode - 0x5e
        continue
      }
      if (opcode <= 0x8f) {
        stack.push(stack[height - opcode + 0x7f] ?? 0)
        pc++
        continue
      }
      if (opcode <= 0x9f) {
        const index = height - opcode + 0x8e
        const top = stack[height - 1] ?? 0
        stack[height - 1] = stack[index] ?? 0
        stack[index] = top
        pc++
        continue
      }
      if (opcode <= 0xa4) {
        if (!log(frame, opcode - 0xa0)) return failed()
        pc++
        continue
      }
      frame.pc = pc
      if (opcode === 0xf3 || opcode === 0xfd) {
        const offset = stack.pop() ?? 0
        const size = stack.pop() ?? 0
        if (!frame.expand(offset, size)) {
          fail(frame, 'OUT_OF_GAS')
          return 'failed'
        }
        frame.output = frame.slice(offset, size)
        return opcode === 0xf3 ? 'done' : 'reverted'
      }
      return 'call'
    }
    // Operands by place: a is on top.
    const a = stack[height - 1] ?? 0
    const b = stack[height - 2] ?? 0
    switch (opcode) {
      case 0x00:
        return 'done'
      case 0x01:
        stack.pop()
        stack[height - 2] = words.add(a, b)
        break
      case 0x02:
        stack.pop()
        stack[height - 2] = words.multiply(a, b)
        break
      case 0x03:
        stack.pop()
        stack[height - 2] = words.subtract(a, b)
        break
      case 0x04:
        stack.pop()
        stack[height - 2] = words.divide(a, b)
        break
      case 0x05:
        stack.pop()
        stack[height - 2] = words.signedDivide(a, b)
        break
      case 0x06:
        stack.pop()
        stack[height - 2] = words.modulo(a, b)
        break
      case 0x07:
        stack.pop()
        stack[height - 2] = words.signedModulo(a, b)
        break
      case 0x08:
      case 0x09: {
        const n = stack[height - 3] ?? 0
        stack.length = height - 2
        stack[height - 3] = opcode === 0x08 ? words.addModulo(a, b, n) : words.multiplyModulo(a, b, n)
        break
      }
      case 0x0a:
        frame.gas -= EXP_BYTE_GAS * words.byteLength(b)
        if (frame.gas < 0) {
          fail(frame, 'OUT_OF_GAS')
          return failed()
        }
        stack.pop()
        stack[height - 2] = words.power(a, b)
        break
      case 0x0b:
        stack.pop()
        stack[height - 2] = words.signExtend(a, b)
        break
      case 0x10:
        stack.pop()
        stack[height - 2] = a < b ? 1 : 0
        break
      case 0x11:
        stack.pop()
        stack[height - 2] = a > b ? 1 : 0
        break
      case 0x12:
        stack.pop()
        stack[height - 2] = words.signedLess(a, b) ? 1 : 0
        break
      case 0x13:
        stack.pop()
        stack[height - 2] = words.signedLess(b, a) ? 1 : 0
        break
      case 0x14:
        stack.pop()
        stack[height - 2] = a === b ? 1 : 0
        break
      case 0x15:
        stack[height - 1] = a === 0 ? 1 : 0
        break
      case 0x16:
        stack.pop()
        stack[height - 2] = words.and(a, b)
        break
      case 0x17:
        stack.pop()
        stack[height - 2] = words.or(a, b)
        break
      case 0x18:
        stack.pop()
        stack[height - 2] = words.xor(a, b)
        break
      case 0x19:
        stack[height - 1] = words.not(a)
        break
      case 0x1a:
        stack.pop()
        stack[height - 2] = words.byteAt(a, b)
        break
      case 0x1b:
        stack.pop()
        stack[height - 2] = words.shiftLeft(a, b)
        break
      case 0x1c:
        stack.pop()
        stack[height - 2] = words.shiftRight(a, b)
        break
      case 0x1d:
        stack.pop()
        stack[height - 2] = words.signedShiftRight(a, b)
        break
      case 0x20:
        stack.pop()
        if (!payForCopy(frame, a, b, KECCAK_WORD_GAS)) return failed()
        stack[height - 2] = readWord(viewOf(keccak256(frame.memory.subarray(Number(a), Number(a) + Number(b)))), 0)
        break
      case 0x35:
        stack[height - 1] = callData(data, a)
        break
      case 0x37:
      case 0x39:
      case 0x3e: {
        const size = stack[height - 3] ?? 0
        stack.length = height - 3
        const source = opcode === 0x37 ? data : opcode === 0x39 ? code : frame.returned
        if (opcode === 0x3e && (typeof b === 'bigint' || typeof size === 'bigint' || b + size > source.length)) {
          fail(frame, 'OUT_OF_GAS')
          return failed()
        }
        if (!payForCopy(frame, a, size, COPY_WORD_GAS)) return failed()
        frame.copy(a, source, b, size)
        break
      }
      case 0x50:
        stack.pop()
        break
      case 0x51:
        if (!frame.expand(a, 32)) {
          fail(frame, 'OUT_OF_GAS')
          return failed()
        }
        stack[height - 1] = readWord(frame.view, Number(a))
        break
      case 0x52:
        stack.length = height - 2
        if (!frame.expand(a, 32)) {
          fail(frame, 'OUT_OF_GAS')
          return failed()
        }
        writeWord(frame.view, Number(a), b)
        break
      case 0x53:
        stack.length = height - 2
        if (!frame.expand(a, 1)) {
          fail(frame, 'OUT_OF_GAS')
          return failed()
        }
        frame.memory[Number(a)] = Number(BigInt(b) & 0xffn)
        break
      case 0x54: {
        const value = loadSlot(frame, host, a)
        if (value === undefined) {
          fail(frame, 'OUT_OF_GAS')
          return failed()
        }
        stack[height - 1] = value
        break
      }
      case 0x55:
        stack.length = height - 2
        if (!storeSlot(frame, host, a, b)) return failed()
        break
      case 0x56:
      case 0x57:
        stack.length = opcode === 0x56 ? height - 1 : height - 2
        if (opcode === 0x57 && b === 0) break
        if (typeof a !== 'number' || jumpDestinations[a] !== 1) {
          fail(frame, 'INVALID_JUMP')
          return failed()
        }
        pc = a
        continue
      case 0x58:
        stack.push(pc)
        break
      case 0x59:
        stack.push(frame.memorySize)
        break
      case 0x5a:
        stack.push(frame.gas)
        break
      case 0x5b:
        if (--turn === 0) {
          frame.pc = pc + 1
          return 'turn'
        }
        break
      case 0x5c:
        stack[height - 1] = host.transientLoad(frame, a)
        break
      case 0x5d:
        stack.length = height - 2
        if (frame.isStatic) {
          fail(frame, 'STATIC_STATE_CHANGE')
          return failed()
        }
        host.transientStore(frame, a, b)
        break
      case 0x5e: {
        const size = stack[height - 3] ?? 0
        stack.length = height - 3
        if (!payForCopy(frame, a > b ? a : b, size, COPY_WORD_GAS)) return failed()
        frame.memory.copyWithin(Number(a), Number(b), Number(b) + Number(size))
        break
      }
      case 0x5f:
        stack.push(0)
        break
      default:
        if (!environment(frame, host, opcode, a)) return failed()
    }
    pc++
  }
  return 'done'
}

/** The 0x30 and 0x40 ranges, but for data copies. */
function environment(frame: Frame, host: Host, opcode: number, a: Word): boolean {
  const { stack, data } = frame
  switch (opcode) {
    case 0x30:
      stack.push(bytesToWord(frame.address))
      return true
    case 0x31:
    case 0x3b:
    case 0x3c:
    case 0x3f:
      return account(frame, host, opcode, a)
    case 0x32:
      stack.push(host.origin)
      return true
    case 0x33:
      stack.push(words.toWord(BigInt(frame.caller)))
      return true
    case 0x34:
      stack.push(frame.value)
      return true
    case 0x36:
      stack.push(data.length)
      return true
    case 0x38:
      stack.push(frame.program.code.length)
      return true
    case 0x3a:
      stack.push(host.gasPrice)
      return true
    case 0x3d:
      stack.push(frame.returned.length)
      return true
    case 0x40:
      stack[stack.length - 1] = host.blockHash(a)
      return true
    case 0x41:
      stack.push(host.coinbase)
      return true
    case 0x42:
      stack.push(host.timestamp)
      return true
    case 0x43:
      stack.push(host.number)
      return true
    case 0x44:
      stack.push(host.prevRandao)
      return true
    case 0x45:
      stack.push(host.gasLimit)
      return true
    case 0x46:
      stack.push(host.chainId)
      return true
    case 0x47:
      stack.push(words.toWord(host.world.balance(frame.addressHex)))
      return true
    case 0x48:
      stack.push(host.baseFee)
      return true
    case 0x49:
      // OP chains have no blob transactions.
      stack[stack.length - 1] = 0
      return true
    case 0x4a:
      // Specs, ecotone/exec-engine.
      stack.push(1)
      return true
    default:
      return fail(frame, 'INVALID_OPCODE')
  }
}

/** BALANCE, EXTCODESIZE, EXTCODECOPY, EXTCODEHASH. */
function account(frame: Frame, host: Host, opcode: number, word: Word): boolean {
  const { stack } = frame
  const height = stack.length
  const address = wordToAddress(word)
  frame.gas -= host.isColdAddress(frame, word, address) ? COLD_ACCOUNT_GAS : WARM_GAS
  if (frame.gas < 0) return fail(frame, 'OUT_OF_GAS')
  if (opcode === 0x31) stack[height - 1] = words.toWord(host.world.balance(address))
  else if (opcode === 0x3b) stack[height - 1] = host.world.code(address).length
  else if (opcode === 0x3f) {
    const record = host.world.account(address)
    const isEmpty =
      record === undefined || (record.nonce === 0n && record.balance === 0n && isCodeless(record.codeHash))
    stack[height - 1] = isEmpty ? 0 : bytesToWord(record.codeHash)
  } else {
    const [size = 0, from = 0, target = 0] = stack.slice(-4)
    stack.length = height - 4
    if (!payForCopy(frame, target, size, COPY_WORD_GAS)) return false
    frame.copy(target, host.world.code(address), from, size)
  }
  return true
}

function isCodeless(codeHash: Uint8Array): boolean {
  // keccak256 of nothing begins so.
  return codeHash[0] === 0xc5 && codeHash[1] === 0xd2 && codeHash[2] === 0x46 && codeHash[3] === 0x01
}

/** Pays for memory and for each word of data, and makes the memory. */
function payForCopy(frame: Frame, offset: Word, size: Word, wordGas: number): boolean {
  if (typeof size === 'bigint') return fail(frame, 'OUT_OF_GAS')
  const gas = frame.expansionGas(offset, size) + wordGas * Math.ceil(size / 32)
  if (gas > frame.gas) return fail(frame, 'OUT_OF_GAS')
  frame.gas -= gas
  frame.grow(offset, size)
  return true
}

function log(frame: Frame, topicCount: number): boolean {
  if (frame.isStatic) return fail(frame, 'STATIC_STATE_CHANGE')
  const { stack } = frame
  const offset = stack.pop() ?? 0
  const size = stack.pop() ?? 0
  if (typeof size === 'bigint') return fail(frame, 'OUT_OF_GAS')
  const gas = frame.expansionGas(offset, size) + LOG_DATA_GAS * size
  if (gas > frame.gas) return fail(frame, 'OUT_OF_GAS')
  frame.gas -= gas
  frame.grow(offset, size)
  const topics: Uint8Array[] = []
  for (let i = 0; i < topicCount; i++) topics.push(wordToBytes(stack.pop() ?? 0))
  frame.logs.push([frame.address, topics, frame.slice(offset, size)])
  return true
}

const padded = new Uint8Array(32)
const paddedView = new DataView(padded.buffer)

/** CALLDATALOAD: zeros past the end. */
function callData(data: Uint8Array, offset: Word): Word {
  if (offset >= data.length) return 0
  const start = Number(offset)
  padded.fill(0)
  padded.set(data.subarray(start, start + 32))
  return readWord(paddedView, 0)
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
