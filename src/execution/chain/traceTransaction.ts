import { BlockExecution } from '../block/blockExecution.ts'
import { contextOf } from '../evm/evmPool.ts'
import type { Frame } from '../evm/interpreter/frame.ts'
import { opcodeName } from '../evm/interpreter/opcodeNames.ts'
import type { Block, BlockHeader } from './block.ts'
import { failureOf } from './failure.ts'
import type { SimulationModules } from './simulation.ts'
import type { CallResult, TraceOptions, TraceStep } from './types.ts'

/**
 * Runs the block's transactions up to this one again and tells of each of its opcodes. undefined when the block has no
 * such transaction.
 */
export async function traceTransaction(
  { evms, config, worldAt }: SimulationModules,
  { header, transactions }: Block,
  parent: BlockHeader,
  index: number,
  onStep: (step: TraceStep) => void,
  options: TraceOptions = {},
): Promise<CallResult | undefined> {
  const transaction = transactions[index]
  if (transaction === undefined) return undefined
  using lease = evms.lease(worldAt(parent), contextOf(header), parent.hash, options.client)
  const execution = new BlockExecution(lease.env, config)
  await execution.begin({
    parentHash: parent.hash,
    parentTimestamp: parent.timestamp,
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
  })
  for (const earlier of transactions.slice(0, index)) await execution.add(earlier)
  const { evm } = lease.env.evm
  const steps = new StepReporter(onStep, options)
  evm.onStep = (frame) => steps.begin(frame)
  const { gasUsed, returnData, logs, failure } = await execution.add(transaction)
  steps.finish()
  return {
    gasUsed,
    returnData,
    logs: logs.map((log, logIndex) => ({ ...log, logIndex })),
    accessList: [],
    ...(failure === undefined ? {} : { failure: failureOf(failure) }),
  }
}

/** Tells of a step once its cost is known: when the next one begins, in whatever frame. */
class StepReporter {
  private readonly onStep: (step: TraceStep) => void
  private readonly withMemory: boolean
  private stepsLeft: number
  private pending: { frame: Frame; step: Omit<TraceStep, 'gasCost' | 'refund'>; gas: number } | undefined

  constructor(
    onStep: (step: TraceStep) => void,
    { maxSteps = Number.POSITIVE_INFINITY, withoutMemory = false }: TraceOptions,
  ) {
    this.onStep = onStep
    this.stepsLeft = maxSteps
    this.withMemory = !withoutMemory
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
      address: frame.addressHex,
    }
    this.pending = { frame, step, gas: frame.gas }
  }

  finish(): void {
    if (this.pending === undefined) return
    const { frame, step, gas } = this.pending
    this.pending = undefined
    this.onStep({ ...step, gasCost: BigInt(frame.opcodeCost ?? gas - frame.gas), refund: BigInt(frame.gasRefund) })
  }
}
