import { type Hex, toHex, toQuantity } from '../../lib/hex.ts'
import { REVERTED } from '../evm/interpreter/failures.ts'
import type { TracedMessage, TracedOutcome } from '../evm/interpreter/tracer.ts'
import type { Environment } from '../evm/runMessage.ts'
import type { Log } from '../primitives/block.ts'
import { revertReason } from '../rpc/revert.ts'
import type { AnswerBudget } from './answerBudget.ts'
import type { TracedResult, TracedTransaction, TransactionTracer } from './types.ts'

export interface CallTracerOptions {
  withLog: boolean
  onlyTopCall: boolean
}

/** Estimated characters of a message and of a log, without their data. */
const MESSAGE_CHARACTERS = 400
const LOG_CHARACTERS = 400

interface CallFrame {
  from: Hex
  gas: string
  gasUsed: string
  to?: Hex
  input: Hex
  output?: Hex
  error?: string
  revertReason?: string
  calls?: CallFrame[]
  logs?: { address: Hex; topics: Hex[]; data: Hex; position: string; index: string }[]
  value?: string
  type: string
}

/** geth's callTracer: the tree of messages of a transaction. */
export class CallTracer implements TransactionTracer {
  private readonly options: CallTracerOptions
  private readonly budget: AnswerBudget
  private readonly open: { frame: CallFrame; gas: number }[] = []
  private top: CallFrame | undefined
  private transactionGas = 0n
  private depth = 0
  private logCount = 0

  constructor(options: CallTracerOptions, budget: AnswerBudget) {
    this.options = options
    this.budget = budget
  }

  begin(_: Environment, { gas }: TracedTransaction): void {
    this.transactionGas = gas
  }

  onEnter({ kind, from, to, value, gas, input }: TracedMessage): void {
    this.depth += 1
    if (this.options.onlyTopCall && this.depth > 1) return
    this.budget.take(MESSAGE_CHARACTERS + 2 * input.length)
    const frame: CallFrame = {
      from,
      gas: toQuantity(this.depth === 1 ? this.transactionGas : gas),
      gasUsed: '0x0',
      to,
      input: toHex(input),
      ...(value === undefined ? {} : { value: toQuantity(value) }),
      type: kind,
    }
    this.top ??= frame
    const parent = this.open.at(-1)?.frame
    if (parent !== undefined) {
      parent.calls ??= []
      parent.calls.push(frame)
    }
    this.open.push({ frame, gas })
  }

  onExit({ gasLeft, output, failure }: TracedOutcome): void {
    this.depth -= 1
    if (this.options.onlyTopCall && this.depth > 0) return
    const ended = this.open.pop()
    if (ended === undefined) return
    const { frame, gas } = ended
    frame.gasUsed = toQuantity(gas - gasLeft)
    this.budget.take(2 * output.length)
    close(frame, output, failure)
  }

  onLog({ address, topics, data }: Omit<Log, 'logIndex'>): void {
    const frame = this.open.at(-1)?.frame
    if (!this.options.withLog || frame === undefined || (this.options.onlyTopCall && this.depth > 1)) return
    this.budget.take(LOG_CHARACTERS + 2 * data.length)
    frame.logs ??= []
    const position = toQuantity(frame.calls?.length ?? 0)
    frame.logs.push({ address, topics, data: toHex(data), position, index: toQuantity(this.logCount++) })
  }

  end({ gasUsed }: TracedResult): unknown {
    const { top } = this
    if (top === undefined) return {}
    top.gasUsed = toQuantity(gasUsed)
    if (this.options.withLog) dropFailedLogs(top, false)
    return top
  }
}

function close(frame: CallFrame, output: Uint8Array, failure: string | undefined): void {
  if (failure === undefined) {
    if (output.length > 0) frame.output = toHex(output)
    return
  }
  frame.error = failure
  if (frame.type === 'CREATE' || frame.type === 'CREATE2') delete frame.to
  if (failure !== REVERTED || output.length === 0) return
  frame.output = toHex(output)
  const reason = revertReason(output)
  if (reason !== undefined) frame.revertReason = reason
}

/** Removes the logs of failed calls and of the calls below them. */
function dropFailedLogs(frame: CallFrame, isFailed: boolean): void {
  const failed = isFailed || frame.error !== undefined
  if (failed) delete frame.logs
  for (const call of frame.calls ?? []) dropFailedLogs(call, failed)
}
