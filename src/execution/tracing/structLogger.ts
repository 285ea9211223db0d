import { ChunkWriter, WrittenJson } from '../../jsonRpc/bodyChunks.ts'
import { type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import type { Frame } from '../evm/interpreter/frame.ts'
import { opcodeName } from '../evm/interpreter/opcodeTable.ts'
import type { Word } from '../evm/interpreter/word.ts'
import type { OpEvm } from '../evm/opEvm.ts'
import type { Environment } from '../evm/runMessage.ts'
import type { AnswerBudget } from './answerBudget.ts'
import type { TracedResult, TransactionTracer } from './types.ts'

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

/**
 * geth's struct logger: every opcode. The value that SLOAD reads is known from the stack of the next step. Steps are
 * kept as text outside V8's heap, where their objects would take several times as much.
 */
export class StructLogger implements TransactionTracer {
  private readonly options: StructOptions
  private readonly budget: AnswerBudget
  private readonly writer = new ChunkWriter()
  /** The last step that is shown. Its storage and its error are not known yet. */
  private last: StructLog | undefined
  private readonly storages = new Map<Hex, Record<string, string>>()
  /** Characters of the written steps. */
  private characters = 0
  private loading: { log: StructLog; slot: string; frame: Frame } | undefined
  /** Number of steps that are still logged. At 0, steps run without a log. */
  private stepsLeft: number
  /** The step in progress. It is logged when the next step begins, in any frame. */
  private step: Step | undefined
  private evm: OpEvm | undefined

  constructor(options: StructOptions, budget: AnswerBudget) {
    this.options = options
    this.budget = budget
    // One step more than is shown: it gives the value of an SLOAD, and shows that steps are left out. A step has at
    // least 50 characters.
    const { limit = Number.POSITIVE_INFINITY } = options
    this.stepsLeft = Math.ceil(limit / 50) + 2
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

  end({ gasUsed, returnData, failure }: TracedResult): WrittenJson {
    this.finishStep()
    const { last } = this
    // Like geth: a step shows why it could not run. Failures of inner calls are not shown here.
    const isBefore = failure !== undefined && /^(out of gas|stack )/.test(failure)
    if (isBefore && last?.depth === 1) last.error = failure
    this.writeLast()
    this.budget.take(2 * returnData.length)
    const head = JSON.stringify({ gas: Number(gasUsed), failed: failure !== undefined, returnValue: toHex(returnData) })
    return new WrittenJson([`${head.slice(0, -1)},"structLogs":[`, ...this.writer.end(), ']}'])
  }

  private finishStep(): void {
    const { step } = this
    this.step = undefined
    if (step !== undefined) this.add(step)
  }

  private add(step: Step): void {
    const { frame, pc, opcode, gas, stack, memory } = step
    this.completeLoad(step)
    this.writeLast()
    const { limit, showStack, showMemory } = this.options
    if (limit !== undefined && this.characters > limit) return
    // Like in geth, the cost of a call includes the gas passed on.
    const gasCost = frame.opcodeCost ?? gas - frame.gas
    const log: StructLog = { pc, op: opcode, gas, gasCost, depth: frame.depth + 1 }
    // The refund of the transaction so far, including this opcode.
    const refund = this.evm?.substate.refund ?? 0
    if (refund !== 0) log.refund = refund
    if (showStack) log.stack = stack.map(toQuantity)
    if (showMemory && memory.length > 0) log.memory = words(memory)
    this.addStorage(step, log)
    this.last = log
  }

  private writeLast(): void {
    if (this.last === undefined) return
    const text = JSON.stringify(this.last)
    this.last = undefined
    this.budget.take(text.length)
    this.writer.add(this.characters === 0 ? text : `,${text}`)
    this.characters += text.length
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
