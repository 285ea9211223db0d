import type { InterpreterStep } from '@ethereumjs/evm'
import { toHex } from '../../lib/hex.ts'
import { BlockExecution } from '../block/blockExecution.ts'
import { contextOf } from '../evm/evmPool.ts'
import { failureOf } from './failure.ts'
import type { SimulationModules } from './simulation.ts'
import type { Block, BlockHeader, CallResult, TraceStep } from './types.ts'

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
): Promise<CallResult | undefined> {
  const transaction = transactions[index]
  if (transaction === undefined) return undefined
  using lease = evms.lease(worldAt(parent), contextOf(header), parent.hash)
  const execution = new BlockExecution(lease.env, config)
  await execution.begin({ parentHash: parent.hash, parentBeaconBlockRoot: header.parentBeaconBlockRoot })
  for (const earlier of transactions.slice(0, index)) await execution.add(earlier)
  const { events } = lease.env.evm.evm
  const listener = (step: InterpreterStep) => onStep(toStep(step))
  events.on('step', listener)
  try {
    const { gasUsed, returnData, logs, failure } = await execution.add(transaction)
    return {
      gasUsed,
      returnData,
      logs: logs.map((log, logIndex) => ({ ...log, logIndex })),
      accessList: [],
      ...(failure === undefined ? {} : { failure: failureOf(failure) }),
    }
  } finally {
    events.off('step', listener)
  }
}

function toStep(step: InterpreterStep): TraceStep {
  return {
    pc: step.pc,
    opcode: step.opcode.name,
    gas: step.gasLeft,
    depth: step.depth + 1,
    stack: step.stack,
    memory: step.memory,
    address: toHex(step.address.bytes),
  }
}
