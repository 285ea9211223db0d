import { keccak256 } from '../../../lib/hash.ts'
import { type Frame, failed } from './frame.ts'
import { MAX_STACK } from './frameBuffers.ts'
import { COPY_WORD_GAS, EXP_BYTE_GAS, KECCAK_WORD_GAS } from './gas.ts'
import { slotNames } from './hexNames.ts'
import type { Host } from './host.ts'
import { account, environment, log, payForCopy } from './opcodes.ts'
import type { OpcodeTable } from './opcodeTable.ts'
import { loadSlot, storeSlot } from './storage.ts'
import * as words from './word.ts'
import { readWord, writeWord } from './word.ts'

/**
 * Why the loop stopped. `call`: at a CALL, CREATE or SELFDESTRUCT opcode, whose constant price is paid. `yield`: the
 * event loop must run.
 */
export type Exit = 'done' | 'reverted' | 'failed' | 'call' | 'yield'

/** Gas spent before the loop yields: 2 ms of the slowest opcodes, hashing and storage. */
const GAS_PER_YIELD = 75_000
/** Jump destinations passed before the loop yields. */
const JUMPS_PER_YIELD = 2_000

/** Buffer for hashes: V8 takes as long to create a view as to compute the hash. */
const hashBytes = new Uint8Array(32)
const hashView = new DataView(hashBytes.buffer)

/** Runs the program until it ends or needs an asynchronous step. */
export function runLoop(frame: Frame, host: Host): Exit {
  const { stack, program, data } = frame
  const { code } = program
  let jumpDestinations: Uint8Array | undefined
  const { gas: prices, takes, delta }: OpcodeTable = host.table
  let jumpsLeft = JUMPS_PER_YIELD
  const yieldGas = frame.gas - GAS_PER_YIELD
  const onStep = host.tracer?.onStep?.bind(host.tracer)
  let { pc, sp } = frame
  while (pc < code.length) {
    const opcode = code[pc] ?? 0
    if (onStep !== undefined) {
      frame.pc = pc
      frame.sp = sp
      onStep(frame)
    }
    const price = prices[opcode] ?? -1
    if (price < 0) {
      frame.pc = pc
      return failed(frame, 'INVALID_OPCODE')
    }
    if (sp < (takes[opcode] ?? 0)) {
      frame.pc = pc
      frame.sp = sp
      return failed(frame, 'STACK_UNDERFLOW')
    }
    if (sp + (delta[opcode] ?? 0) > MAX_STACK) return failed(frame, 'STACK_OVERFLOW')
    frame.gas -= price
    if (frame.gas < 0) return failed(frame, 'OUT_OF_GAS')
    if (opcode >= 0x60) {
      if (opcode <= 0x7f) {
        stack[sp++] = opcode === 0x60 ? (code[pc + 1] ?? 0) : program.pushed(pc, opcode - 0x5f)
        pc += opcode - 0x5e
        continue
      }
      if (opcode <= 0x8f) {
        stack[sp] = stack[sp - opcode + 0x7f] ?? 0
        sp++
        pc++
        continue
      }
      if (opcode <= 0x9f) {
        const index = sp - opcode + 0x8e
        const top = stack[sp - 1] ?? 0
        stack[sp - 1] = stack[index] ?? 0
        stack[index] = top
        pc++
        continue
      }
      if (opcode <= 0xa4) {
        frame.sp = sp
        if (!log(frame, host, opcode - 0xa0)) return 'failed'
        sp = frame.sp
        pc++
        continue
      }
      frame.pc = pc
      frame.sp = sp
      if (opcode === 0xf3 || opcode === 0xfd) {
        const offset = stack[sp - 1] ?? 0
        const size = stack[sp - 2] ?? 0
        if (!frame.expand(offset, size)) return failed(frame, 'OUT_OF_GAS')
        frame.output = frame.slice(offset, size)
        return opcode === 0xf3 ? 'done' : 'reverted'
      }
      return 'call'
    }
    // Operands: a is the top of the stack.
    const a = stack[sp - 1] ?? 0
    const b = stack[sp - 2] ?? 0
    switch (opcode) {
      case 0x00:
        return 'done'
      case 0x01:
        sp--
        stack[sp - 1] = words.add(a, b)
        break
      case 0x02:
        sp--
        stack[sp - 1] = words.multiply(a, b)
        break
      case 0x03:
        sp--
        stack[sp - 1] = words.subtract(a, b)
        break
      case 0x04:
        sp--
        stack[sp - 1] = words.divide(a, b)
        break
      case 0x05:
        sp--
        stack[sp - 1] = words.signedDivide(a, b)
        break
      case 0x06:
        sp--
        stack[sp - 1] = words.modulo(a, b)
        break
      case 0x07:
        sp--
        stack[sp - 1] = words.signedModulo(a, b)
        break
      case 0x08:
      case 0x09: {
        const n = stack[sp - 3] ?? 0
        sp -= 2
        stack[sp - 1] = opcode === 0x08 ? words.addModulo(a, b, n) : words.multiplyModulo(a, b, n)
        break
      }
      case 0x0a:
        frame.gas -= EXP_BYTE_GAS * words.byteLength(b)
        if (frame.gas < 0) return failed(frame, 'OUT_OF_GAS')
        sp--
        stack[sp - 1] = words.power(a, b)
        break
      case 0x0b:
        sp--
        stack[sp - 1] = words.signExtend(a, b)
        break
      case 0x10:
        sp--
        stack[sp - 1] = a < b ? 1 : 0
        break
      case 0x11:
        sp--
        stack[sp - 1] = a > b ? 1 : 0
        break
      case 0x12:
        sp--
        stack[sp - 1] = words.signedLess(a, b) ? 1 : 0
        break
      case 0x13:
        sp--
        stack[sp - 1] = words.signedLess(b, a) ? 1 : 0
        break
      case 0x14:
        sp--
        stack[sp - 1] = a === b ? 1 : 0
        break
      case 0x15:
        stack[sp - 1] = a === 0 ? 1 : 0
        break
      case 0x16:
        sp--
        stack[sp - 1] = words.and(a, b)
        break
      case 0x17:
        sp--
        stack[sp - 1] = words.or(a, b)
        break
      case 0x18:
        sp--
        stack[sp - 1] = words.xor(a, b)
        break
      case 0x19:
        stack[sp - 1] = words.not(a)
        break
      case 0x1a:
        sp--
        stack[sp - 1] = words.byteAt(a, b)
        break
      case 0x1b:
        sp--
        stack[sp - 1] = words.shiftLeft(a, b)
        break
      case 0x1c:
        sp--
        stack[sp - 1] = words.shiftRight(a, b)
        break
      case 0x1d:
        sp--
        stack[sp - 1] = words.signedShiftRight(a, b)
        break
      case 0x1e:
        stack[sp - 1] = words.leadingZeros(a)
        break
      case 0x20:
        sp--
        if (!payForCopy(frame, a, b, KECCAK_WORD_GAS)) return 'failed'
        hashBytes.set(keccak256(frame.memory.subarray(Number(a), Number(a) + Number(b))))
        stack[sp - 1] = readWord(hashView, 0)
        break
      case 0x35:
        stack[sp - 1] = frame.dataWord(a)
        break
      case 0x37:
      case 0x39:
      case 0x3e: {
        const size = stack[sp - 3] ?? 0
        sp -= 3
        const source = opcode === 0x37 ? data : opcode === 0x39 ? code : frame.returned
        if (opcode === 0x3e && (typeof b === 'bigint' || typeof size === 'bigint' || b + size > source.length))
          return failed(frame, 'OUT_OF_GAS')
        if (!payForCopy(frame, a, size, COPY_WORD_GAS)) return 'failed'
        frame.copy(a, source, b, size)
        break
      }
      case 0x50:
        sp--
        break
      case 0x51:
        if (!frame.expand(a, 32)) return failed(frame, 'OUT_OF_GAS')
        stack[sp - 1] = readWord(frame.view, Number(a))
        break
      case 0x52:
        sp -= 2
        if (!frame.expand(a, 32)) return failed(frame, 'OUT_OF_GAS')
        writeWord(frame.view, Number(a), b)
        break
      case 0x53:
        sp -= 2
        if (!frame.expand(a, 1)) return failed(frame, 'OUT_OF_GAS')
        frame.memory[Number(a)] = Number(BigInt(b) & 0xffn)
        break
      case 0x54: {
        const value = loadSlot(frame, host, a)
        if (value === undefined) return failed(frame, 'OUT_OF_GAS')
        stack[sp - 1] = value
        break
      }
      case 0x55:
        sp -= 2
        if (!storeSlot(frame, host, a, b)) return 'failed'
        break
      case 0x56:
      case 0x57:
        sp -= opcode === 0x56 ? 1 : 2
        if (opcode === 0x57 && b === 0) break
        jumpDestinations ??= program.jumpDestinations
        if (typeof a !== 'number' || jumpDestinations[a] !== 1) return failed(frame, 'INVALID_JUMP')
        pc = a
        continue
      case 0x58:
        stack[sp++] = pc
        break
      case 0x59:
        stack[sp++] = frame.memorySize
        break
      case 0x5a:
        stack[sp++] = frame.gas
        break
      case 0x5b:
        if (--jumpsLeft === 0) {
          frame.pc = pc + 1
          frame.sp = sp
          return 'yield'
        }
        break
      case 0x5c:
        stack[sp - 1] = host.substate.transientLoad(frame.address, slotNames.of(a))
        break
      case 0x5d:
        sp -= 2
        if (frame.isStatic) return failed(frame, 'STATIC_STATE_CHANGE')
        host.substate.transientStore(frame.address, slotNames.of(a), b)
        break
      case 0x5e: {
        const size = stack[sp - 3] ?? 0
        sp -= 3
        if (!payForCopy(frame, a > b ? a : b, size, COPY_WORD_GAS)) return 'failed'
        frame.memory.copyWithin(Number(a), Number(b), Number(b) + Number(size))
        break
      }
      case 0x5f:
        stack[sp++] = 0
        break
      default:
        if (opcode === 0x31 || opcode === 0x3b || opcode === 0x3c || opcode === 0x3f) {
          frame.sp = sp
          if (!account(frame, host, opcode, a)) return 'failed'
          sp = frame.sp
        } else if (opcode === 0x40) stack[sp - 1] = host.blockHash(a)
        // OP chains have no blob transactions.
        else if (opcode === 0x49) stack[sp - 1] = 0
        else stack[sp++] = environment(frame, host, opcode)
    }
    pc++
    if (frame.gas < yieldGas) {
      frame.pc = pc
      frame.sp = sp
      return 'yield'
    }
  }
  return 'done'
}
