import { type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import type { Frame } from '../evm/interpreter/frame.ts'
import { opcodeName } from '../evm/interpreter/opcodeTable.ts'
import type { Word } from '../evm/interpreter/word.ts'
import type { OpEvm } from '../evm/opEvm.ts'
import type { Environment } from '../evm/runMessage.ts'
import { serverError } from '../rpc/errors.ts'
import type { TracedResult, TransactionTracer } from './types.ts'

/** Most steps of one trace. Every 15 stack words of a step take up to a kilobyte of the answer. */
const MAX_STEPS = 100_000
/** Most words of stack, memory and storage of one trace. A thousand words in each step would fill the heap. */
const MAX_WORDS = 1_000_000

export interface StructOptions {
  showStack: boolean
  showStorage: boolean
  showMemory: boolean
  /** Characters of the answer after which steps are not shown. They still run. */
  limit: number | undefined
}

type StructLog = Record<string, number | string | string[] | Record<string, string>>

/** The opcode that runs, with what its frame had before. */
interface Step {
  frame: Frame
  pc: number
  opcode: string
  gas: number
  stack: readonly Word[]
  /** Empty unless it is shown: copying a megabyte at each step takes minutes. */
  memory: Uint8Array
}

/** geth's struct logger: every opcode. The value that SLOAD reads is known from the stack of the next step. */
export class StructLogger implements TransactionTracer {
  private readonly options: StructOptions
  private readonly logs: StructLog[] = []
  private readonly storages = new Map<Hex, Record<string, string>>()
  private isComplete = true
  private words = 0
  /** Characters of the shown steps. Counted only if there is a limit. */
  private characters = 0
  private loading: { log: StructLog; slot: string; frame: Frame } | undefined
  /** Number of steps that are still logged. At 0, steps run without a log. */
  private stepsLeft: number
  /** The step in progress. It is logged when the next step begins, in any frame. */
  private step: Step | undefined
  private evm: OpEvm | undefined

  constructor(options: StructOptions) {
    this.options = options
    // One step more than is shown: it gives the value of an SLOAD, and shows that steps are left out. A step has at
    // least 50 characters.
    const { limit = Number.POSITIVE_INFINITY } = options
    this.stepsLeft = Math.min(MAX_STEPS, Math.ceil(limit / 50) + 1) + 1
  }

  begin({ evm }: Environment): void {
    this.evm = evm
  }

  onStep(frame: Frame): void {
    this.finishStep()
    if (this.stepsLeft === 0) return
    this.stepsLeft--
    frame.opcodeCost = undefined
    this.step = {
      frame,
      pc: frame.pc,
      opcode: opcodeName(frame.program.code[frame.pc] ?? 0),
      gas: frame.gas,
      stack: frame.stack.slice(0, frame.sp),
      memory: frame.memory.slice(0, this.options.showMemory ? frame.memorySize : 0),
    }
  }

  onEnd(): void {
    this.finishStep()
  }

  end({ gasUsed, returnData, failure }: TracedResult): unknown {
    this.finishStep()
    const last = this.logs.at(-1)
    // Like geth: a step shows why it could not run. Failures of inner calls are not shown here.
    const isBefore = failure !== undefined && /^(out of gas|stack )/.test(failure)
    if (isBefore && last?.depth === 1 && this.isComplete) last.error = failure
    return {
      gas: Number(gasUsed),
      failed: failure !== undefined,
      returnValue: toHex(returnData),
      structLogs: this.logs,
    }
  }

  private finishStep(): void {
    const { step } = this
    this.step = undefined
    if (step !== undefined) this.add(step)
  }

  private add(step: Step): void {
    const { frame, pc, opcode, gas, stack, memory } = step
    this.completeLoad(step)
    const { limit, showStack, showMemory } = this.options
    const last = this.logs.at(-1)
    if (limit !== undefined && last !== undefined && this.isComplete) this.characters += JSON.stringify(last).length
    if (limit !== undefined && this.characters > limit) {
      this.isComplete = false
      return
    }
    if (this.logs.length >= MAX_STEPS) {
      throw serverError(`the trace has more than ${MAX_STEPS} steps: set "limit" to get fewer`)
    }
    if (showStack) this.countWords(stack.length)
    if (showMemory) this.countWords(memory.length / 32)
    // Like in geth, the cost of a call includes the gas passed on.
    const gasCost = frame.opcodeCost ?? gas - frame.gas
    const log: StructLog = { pc, op: opcode, gas, gasCost, depth: frame.depth + 1 }
    // The refund of the transaction so far, including this opcode.
    const refund = this.evm?.substate.refund ?? 0
    if (refund !== 0) log.refund = refund
    if (showStack) log.stack = stack.map(toQuantity)
    if (showMemory && memory.length > 0) log.memory = words(memory)
    this.addStorage(step, log)
    this.logs.push(log)
  }

  private countWords(count: number): void {
    this.words += count
    if (this.words > MAX_WORDS) {
      throw serverError(
        `the trace has more than ${MAX_WORDS} words of stack, memory and storage: set "limit" to get fewer steps`,
      )
    }
  }

  private addStorage({ frame, opcode, stack }: Step, log: StructLog): void {
    const slot = stack.at(-1)
    if (!this.options.showStorage || slot === undefined) return
    if (opcode === 'SLOAD') {
      this.loading = { log, slot: word(slot), frame }
    } else if (opcode === 'SSTORE') {
      const value = stack.at(-2)
      if (value !== undefined) log.storage = this.remember(frame.address, word(slot), word(value))
    }
  }

  private completeLoad({ frame, stack }: Step): void {
    const { loading } = this
    this.loading = undefined
    const value = stack.at(-1)
    if (loading === undefined || value === undefined || frame.depth !== loading.frame.depth) return
    loading.log.storage = this.remember(loading.frame.address, loading.slot, word(value))
  }

  private remember(address: Hex, slot: string, value: string): Record<string, string> {
    const storage = { ...this.storages.get(address), [slot]: value }
    this.storages.set(address, storage)
    this.countWords(Object.keys(storage).length)
    return storage
  }
}

function word(value: Word): string {
  return value.toString(16).padStart(64, '0')
}

function words(memory: Uint8Array): string[] {
  const text = toHex(memory).slice(2)
  return Array.from({ length: Math.floor(text.length / 64) }, (_, index) => text.slice(index * 64, index * 64 + 64))
}
