import { type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import type { Frame } from '../evm/interpreter/frame.ts'
import type { Environment } from '../evm/runMessage.ts'
import { serverError } from '../rpc/errors.ts'
import { StepReporter, type TraceStep } from './steps.ts'
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

/** geth's struct logger: every opcode. The value that SLOAD reads is known from the stack of the next step. */
export class StructLogger implements TransactionTracer {
  private readonly options: StructOptions
  private readonly logs: StructLog[] = []
  private readonly storages = new Map<Hex, Record<string, string>>()
  private isComplete = true
  private words = 0
  /** Characters of the shown steps. Counted only if there is a limit. */
  private characters = 0
  private loading: { log: StructLog; slot: string; address: Hex; depth: number } | undefined

  private steps: StepReporter | undefined

  constructor(options: StructOptions) {
    this.options = options
  }

  begin({ evm }: Environment): void {
    const { limit, showMemory } = this.options
    // One step more than is shown: it gives the value of an SLOAD, and shows that steps are left out. A step has at
    // least 50 characters.
    const maxSteps = Math.min(MAX_STEPS, Math.ceil((limit ?? Number.POSITIVE_INFINITY) / 50) + 1) + 1
    this.steps = new StepReporter(
      (step) => this.add(step),
      () => evm.substate.refund,
      { maxSteps, withMemory: showMemory },
    )
  }

  onStep(frame: Frame): void {
    this.steps?.begin(frame)
  }

  onEnd(): void {
    this.steps?.finish()
  }

  end({ gasUsed, returnData, failure }: TracedResult): unknown {
    this.steps?.finish()
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

  private add(step: TraceStep): void {
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
    if (showStack) this.countWords(step.stack.length)
    if (showMemory) this.countWords(step.memory.length / 32)
    const log: StructLog = {
      pc: step.pc,
      op: step.opcode,
      gas: Number(step.gas),
      gasCost: Number(step.gasCost),
      depth: step.depth,
    }
    if (step.refund !== 0n) log.refund = Number(step.refund)
    if (showStack) log.stack = step.stack.map(toQuantity)
    if (showMemory && step.memory.length > 0) log.memory = words(step.memory)
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

  private addStorage({ opcode, stack, address, depth }: TraceStep, log: StructLog): void {
    const slot = stack.at(-1)
    if (!this.options.showStorage || slot === undefined) return
    if (opcode === 'SLOAD') {
      this.loading = { log, slot: word(slot), address, depth }
    } else if (opcode === 'SSTORE') {
      const value = stack.at(-2)
      if (value !== undefined) log.storage = this.remember(address, word(slot), word(value))
    }
  }

  private completeLoad({ depth, stack }: TraceStep): void {
    const { loading } = this
    this.loading = undefined
    const value = stack.at(-1)
    if (loading === undefined || value === undefined || depth !== loading.depth) return
    loading.log.storage = this.remember(loading.address, loading.slot, word(value))
  }

  private remember(address: Hex, slot: string, value: string): Record<string, string> {
    const storage = { ...this.storages.get(address), [slot]: value }
    this.storages.set(address, storage)
    this.countWords(Object.keys(storage).length)
    return storage
  }
}

function word(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

function words(memory: Uint8Array): string[] {
  const text = toHex(memory).slice(2)
  return Array.from({ length: Math.floor(text.length / 64) }, (_, index) => text.slice(index * 64, index * 64 + 64))
}
