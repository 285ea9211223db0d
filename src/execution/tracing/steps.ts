import type { Hex } from '../../lib/hex.ts'
import type { Frame } from '../evm/interpreter/frame.ts'
import { opcodeName } from '../evm/interpreter/opcodeTable.ts'

export interface TraceStep {
  pc: number
  opcode: string
  /** Before the opcode. */
  gas: bigint
  /** Gas charged for the opcode. For calls it includes the gas passed on, like in geth. */
  gasCost: bigint
  /** Refund of the transaction so far, including this opcode. */
  refund: bigint
  depth: number
  stack: readonly bigint[]
  /** Empty unless requested. */
  memory: Uint8Array
  address: Hex
}

export interface StepOptions {
  /** Number of reported steps. Later steps run without a report. */
  maxSteps: number
  /** Copying a megabyte at each step takes minutes. */
  withMemory: boolean
}

/** Reports a step when the next step begins, in any frame. */
export class StepReporter {
  private readonly report: (step: TraceStep) => void
  private readonly refund: () => number
  private readonly withMemory: boolean
  private stepsLeft: number
  private pending: { frame: Frame; step: Omit<TraceStep, 'gasCost' | 'refund'>; gas: number } | undefined

  constructor(report: (step: TraceStep) => void, refund: () => number, { maxSteps, withMemory }: StepOptions) {
    this.report = report
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
    this.report({ ...step, gasCost: BigInt(frame.opcodeCost ?? gas - frame.gas), refund: BigInt(this.refund()) })
  }
}
