import type { Hex } from '../../lib/hex.ts'
import type { Frame } from '../evm/interpreter/frame.ts'
import { opcodeName } from '../evm/interpreter/opcodeNames.ts'

/** One opcode, once its cost is known. */
export interface TraceStep {
  pc: number
  opcode: string
  /** Before it. */
  gas: bigint
  /** What it takes; for calls with the gas they pass on, as geth counts. */
  gasCost: bigint
  /** Of the transaction so far, with what this opcode added. */
  refund: bigint
  depth: number
  stack: readonly bigint[]
  /** Empty where it is not wanted. */
  memory: Uint8Array
  address: Hex
}

export interface StepOptions {
  /** Steps to tell of; the others are run all the same. */
  maxSteps: number
  /** Copying a megabyte at each step takes minutes. */
  withMemory: boolean
}

/** Tells of a step when the next one begins, in whatever frame. */
export class StepReporter {
  private readonly tell: (step: TraceStep) => void
  private readonly refund: () => number
  private readonly withMemory: boolean
  private stepsLeft: number
  private pending: { frame: Frame; step: Omit<TraceStep, 'gasCost' | 'refund'>; gas: number } | undefined

  constructor(tell: (step: TraceStep) => void, refund: () => number, { maxSteps, withMemory }: StepOptions) {
    this.tell = tell
    this.refund = refund
    this.stepsLeft = maxSteps
    this.withMemory = withMemory
  }

  begin(frame: Frame): void {
    this.finish()
    if (this.stepsLeft === 0) return
    this.stepsLeft--
    frame.opcodeCost = undefined
    const step = {
      pc: frame.pc,
      opcode: opcodeName(frame.program.code[frame.pc] ?? 0),
      gas: BigInt(frame.gas),
      depth: frame.depth + 1,
      stack: frame.stack.slice(0, frame.sp).map(BigInt),
      memory: frame.memory.slice(0, this.withMemory ? frame.memorySize : 0),
      address: frame.address,
    }
    this.pending = { frame, step, gas: frame.gas }
  }

  finish(): void {
    if (this.pending === undefined) return
    const { frame, step, gas } = this.pending
    this.pending = undefined
    this.tell({ ...step, gasCost: BigInt(frame.opcodeCost ?? gas - frame.gas), refund: BigInt(this.refund()) })
  }
}
