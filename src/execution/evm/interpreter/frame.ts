import type { Hex } from '../../../lib/hex.ts'
import type { Program } from './code.ts'
import { memoryGas } from './gas.ts'
import type { Room } from './room.ts'
import type { Mark } from './substate.ts'
import { bytesToWord, readWord, toWord, type Word } from './word.ts'

/** Why a frame failed: each takes all gas and undoes what the frame did. */
export type Failure =
  | 'OUT_OF_GAS'
  | 'STACK_UNDERFLOW'
  | 'STACK_OVERFLOW'
  | 'INVALID_JUMP'
  | 'INVALID_OPCODE'
  | 'STATIC_STATE_CHANGE'
  | 'INITCODE_SIZE'
  | 'CODE_SIZE'
  | 'CODE_START'
  | 'CODE_STORE_OUT_OF_GAS'
  | 'COLLISION'

/** How a program ended. */
export type FrameEnd = 'done' | 'reverted' | 'failed'

/** Notes the failure. */
export function fail(frame: Frame, failure: Failure): false {
  frame.failure = failure
  return false
}

export interface FrameInput {
  program: Program
  address: Hex
  caller: Hex
  value: Word
  data: Uint8Array
  gas: number
  isStatic: boolean
  /** Of the program that called this one; undefined at depth 0. */
  parent: Frame | undefined
  /** Whether it makes the contract that stands at `address`. */
  isCreation: boolean
  /** Where the caller's memory takes what comes back. */
  outputOffset: Word
  outputSize: Word
  /** Where the transaction stands as it begins. */
  mark: Mark
}

/** Memory costs grow with the square: no gas limit pays for more than this. */
const MAX_MEMORY_BYTES = 2 ** 30

const NOTHING = new Uint8Array(0)
const NOTHING_VIEW = new DataView(NOTHING.buffer)

/** One running program: all that has to survive while a call it makes is under way. */
export class Frame {
  readonly program: Program
  readonly address: Hex
  readonly caller: Hex
  readonly value: Word
  /** Of a call: the caller's own memory, where no gas was paid for a copy. */
  readonly data: Uint8Array
  readonly isStatic: boolean
  readonly parent: Frame | undefined
  readonly depth: number
  readonly isCreation: boolean
  readonly outputOffset: Word
  readonly outputSize: Word
  readonly mark: Mark
  readonly room: Room
  /** Only what lies below `sp` counts. */
  readonly stack: Word[]
  sp = 0
  pc = 0
  gas: number
  memory: Uint8Array<ArrayBuffer> = NOTHING
  view = NOTHING_VIEW
  /** Bytes that the program has reached, a multiple of 32; `memory` may be longer. */
  memorySize = 0
  memoryCost = 0
  /** Of the last call. */
  returned: Uint8Array = NOTHING
  /** Price of a call or creation under way, with what a call passes on: for traces. */
  opcodeCost: number | undefined
  /** Why the program failed. */
  failure: Failure | undefined
  /** Of this program. */
  output: Uint8Array = NOTHING
  private knownAddress: Word | undefined
  private knownCaller: Word | undefined
  private dataView: DataView | undefined

  constructor(input: FrameInput, room: Room) {
    this.room = room
    this.stack = room.stack
    this.program = input.program
    this.address = input.address
    this.caller = input.caller
    this.value = input.value
    this.data = input.data
    this.gas = input.gas
    this.isStatic = input.isStatic
    this.parent = input.parent
    this.depth = input.parent === undefined ? 0 : input.parent.depth + 1
    this.isCreation = input.isCreation
    this.outputOffset = input.outputOffset
    this.outputSize = input.outputSize
    this.mark = input.mark
  }

  /** What ADDRESS gives: read from its name once, however often a program asks. */
  addressWord(): Word {
    this.knownAddress ??= toWord(BigInt(this.address))
    return this.knownAddress
  }

  /** What CALLER gives. */
  callerWord(): Word {
    this.knownCaller ??= toWord(BigInt(this.caller))
    return this.knownCaller
  }

  /** CALLDATALOAD: zeros stand behind the data. */
  dataWord(offset: Word): Word {
    const { data } = this
    if (offset >= data.length) return 0
    const start = Number(offset)
    if (start + 32 > data.length) return endWord(data, start)
    this.dataView ??= new DataView(data.buffer, data.byteOffset, data.length)
    return readWord(this.dataView, start)
  }

  pop(): Word {
    return this.stack[--this.sp] ?? 0
  }

  push(word: Word): void {
    this.stack[this.sp++] = word
  }

  /**
   * Makes bytes offset..offset+size part of memory. Returns the gas for it, Infinity for more than anyone can pay; the
   * memory is there only once the caller has `grow`n it.
   */
  expansionGas(offset: Word, size: Word): number {
    if (size === 0) return 0
    if (typeof offset === 'bigint' || typeof size === 'bigint') return Number.POSITIVE_INFINITY
    const end = offset + size
    if (end <= this.memorySize) return 0
    if (end > MAX_MEMORY_BYTES) return Number.POSITIVE_INFINITY
    return memoryGas(Math.ceil(end / 32)) - this.memoryCost
  }

  /** After `expansionGas` was paid. */
  grow(offset: Word, size: Word): void {
    if (size === 0) return
    const end = Number(offset) + Number(size)
    if (end <= this.memorySize) return
    const words = Math.ceil(end / 32)
    this.memorySize = words * 32
    this.memoryCost = memoryGas(words)
    if (this.memorySize <= this.memory.length) return
    const { memory, view } = this.room.takeMemory(Math.max(this.memory.length * 2, this.memorySize))
    memory.set(this.memory)
    this.memory = memory
    this.view = view
  }

  /** Pays for and makes memory. False when the gas does not suffice. */
  expand(offset: Word, size: Word): boolean {
    const gas = this.expansionGas(offset, size)
    if (gas > this.gas) return false
    this.gas -= gas
    this.grow(offset, size)
    return true
  }

  /** Memory that was expanded before, itself: it stays as it is while a call that the program made is under way. */
  part(offset: Word, size: Word): Uint8Array<ArrayBuffer> {
    return size === 0 ? NOTHING : this.memory.subarray(Number(offset), Number(offset) + Number(size))
  }

  /** A copy of memory that was expanded before. */
  slice(offset: Word, size: Word): Uint8Array<ArrayBuffer> {
    return size === 0 ? NOTHING : this.memory.slice(Number(offset), Number(offset) + Number(size))
  }

  /** Copies from `source` into expanded memory, zeros where it ends. */
  copy(target: Word, source: Uint8Array, from: Word, size: Word): void {
    if (size === 0) return
    const start = Number(target)
    const end = start + Number(size)
    const part = from >= source.length ? NOTHING : source.subarray(Number(from), Number(from) + Number(size))
    this.memory.set(part, start)
    this.memory.fill(0, start + part.length, end)
  }
}

function endWord(data: Uint8Array, start: number): Word {
  const bytes = new Uint8Array(32)
  bytes.set(data.subarray(start))
  return bytesToWord(bytes)
}

/** A frame to run; undefined where there is nothing to run, and the caller has its outcome; or that, later. */
export type Start = Frame | undefined | Promise<undefined>
