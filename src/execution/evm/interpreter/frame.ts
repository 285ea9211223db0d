import type { Hex } from '../../../lib/hex.ts'
import type { Program } from './code.ts'
import type { FrameBuffers } from './frameBuffers.ts'
import { memoryGas } from './gas.ts'
import type { Mark } from './substate.ts'
import { bytesToWord, readWord, toWord, type Word } from './word.ts'

/** Why a frame failed. A failure uses all gas and reverts the frame's changes. */
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

export type FrameEnd = 'done' | 'reverted' | 'failed'

export function fail(frame: Frame, failure: Failure): false {
  frame.failure = failure
  return false
}

export function failed(frame: Frame, failure: Failure): 'failed' {
  frame.failure = failure
  return 'failed'
}

export interface FrameInput {
  program: Program
  address: Hex
  caller: Hex
  value: Word
  data: Uint8Array
  gas: number
  isStatic: boolean
  /** The calling frame. Undefined at depth 0. */
  parent: Frame | undefined
  /** Whether the frame creates the contract at `address`. */
  isCreation: boolean
  /** Where the output goes in the caller's memory. */
  outputOffset: Word
  outputSize: Word
  /** The substate at the start of the frame. */
  mark: Mark
}

/** Memory cost is quadratic: no gas limit can pay for more. */
const MAX_MEMORY_BYTES = 2 ** 30

const NOTHING = new Uint8Array(0)
const NOTHING_VIEW = new DataView(NOTHING.buffer)

/** A running program, with everything that must survive while it calls another one. */
export class Frame {
  readonly program: Program
  readonly address: Hex
  readonly caller: Hex
  readonly value: Word
  /** In a call, a view of the caller's memory: no gas was paid for a copy. */
  readonly data: Uint8Array
  readonly isStatic: boolean
  readonly parent: Frame | undefined
  readonly depth: number
  readonly isCreation: boolean
  readonly outputOffset: Word
  readonly outputSize: Word
  readonly mark: Mark
  readonly buffers: FrameBuffers
  /** Only entries below `sp` are valid. */
  readonly stack: Word[]
  sp = 0
  pc = 0
  gas: number
  memory: Uint8Array<ArrayBuffer> = NOTHING
  view = NOTHING_VIEW
  /** Bytes that the program has reached, a multiple of 32. `memory` may be longer. */
  memorySize = 0
  memoryCost = 0
  /** Output of the last call. */
  returned: Uint8Array = NOTHING
  /** For traces: price of the current call or creation, including the gas passed on. */
  opcodeCost: number | undefined
  failure: Failure | undefined
  /** Output of this program. */
  output: Uint8Array = NOTHING
  private knownAddress: Word | undefined
  private knownCaller: Word | undefined
  private dataView: DataView | undefined

  constructor(input: FrameInput, buffers: FrameBuffers) {
    this.buffers = buffers
    this.stack = buffers.stack
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

  /** The result of ADDRESS, cached as a word. */
  addressWord(): Word {
    this.knownAddress ??= toWord(BigInt(this.address))
    return this.knownAddress
  }

  /** The result of CALLER. */
  callerWord(): Word {
    this.knownCaller ??= toWord(BigInt(this.caller))
    return this.knownCaller
  }

  /** CALLDATALOAD. Bytes beyond the end of the data are zero. */
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
   * Gas to expand memory to bytes offset..offset+size. Infinity if no gas can pay for it. Call `grow` to expand the
   * memory.
   */
  expansionGas(offset: Word, size: Word): number {
    if (size === 0) return 0
    if (typeof offset === 'bigint' || typeof size === 'bigint') return Number.POSITIVE_INFINITY
    const end = offset + size
    if (end <= this.memorySize) return 0
    if (end > MAX_MEMORY_BYTES) return Number.POSITIVE_INFINITY
    return memoryGas(Math.ceil(end / 32)) - this.memoryCost
  }

  /** Expands memory. Call it after `expansionGas` was paid. */
  grow(offset: Word, size: Word): void {
    if (size === 0) return
    const end = Number(offset) + Number(size)
    if (end <= this.memorySize) return
    const words = Math.ceil(end / 32)
    this.memorySize = words * 32
    this.memoryCost = memoryGas(words)
    if (this.memorySize <= this.memory.length) return
    const { memory, view } = this.buffers.takeMemory(Math.max(this.memory.length * 2, this.memorySize))
    memory.set(this.memory)
    this.memory = memory
    this.view = view
  }

  /** Pays for memory and for `more`, and expands the memory. False if the gas is not enough. */
  expand(offset: Word, size: Word, more = 0): boolean {
    const gas = this.expansionGas(offset, size) + more
    if (gas > this.gas) return false
    this.gas -= gas
    this.grow(offset, size)
    return true
  }

  /** A view of expanded memory. It does not change while a call of the program runs. */
  part(offset: Word, size: Word): Uint8Array<ArrayBuffer> {
    return size === 0 ? NOTHING : this.memory.subarray(Number(offset), Number(offset) + Number(size))
  }

  /** A copy of expanded memory. */
  slice(offset: Word, size: Word): Uint8Array<ArrayBuffer> {
    return size === 0 ? NOTHING : this.memory.slice(Number(offset), Number(offset) + Number(size))
  }

  /** Copies from `source` into expanded memory. Fills with zeros after the end of `source`. */
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

/**
 * A frame to run. Undefined if there is nothing to run and the caller has the outcome; a promise if it gets it later.
 */
export type Start = Frame | undefined | Promise<undefined>
