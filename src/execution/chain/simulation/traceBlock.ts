import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { beginExecution } from '../../block/blockExecution.ts'
import type {
  Block,
  BlockHeader,
  DepositTransaction,
  PostExecTransaction,
  SignedTransaction,
} from '../../primitives/block.ts'
import type { TracedTransaction, TransactionTracer } from '../../tracing/types.ts'
import type { SimulationModules } from './simulation.ts'

/** Executes the block's transactions up to `to` again. Those from `from` on have a tracer each. */
export async function traceBlock(
  { worldAt, ...evm }: SimulationModules,
  block: Block,
  parent: BlockHeader,
  { from, to }: { from: number; to: number },
  tracers: () => TransactionTracer,
  client?: AbortSignal,
): Promise<unknown[]> {
  const { transactions } = block
  const execution = await beginExecution(evm, worldAt(parent), block, parent, client)
  const { env } = execution
  for (const earlier of transactions.slice(0, from)) await execution.add(earlier)
  const results: unknown[] = []
  for (const transaction of transactions.slice(from, to)) {
    const tracer = tracers()
    if (transaction.type === 0x7d) tracePostExec(tracer, transaction)
    else tracer.begin(env, toTraced(transaction))
    env.evm.tracer = tracer
    const outcome = await execution.add(transaction)
    env.evm.tracer = undefined
    results.push(tracer.end(outcome))
  }
  return results
}

/**
 * A post-exec transaction runs no code. It is traced as a call of the zero address by itself, without gas. op-reth
 * traces it as an empty execution; how its callTracer shows that is unknown. op-reth also traces each transaction
 * without refunds. Here a trace has the gas of the receipt and the block's own state.
 */
function tracePostExec(tracer: TransactionTracer, { from, data }: PostExecTransaction): void {
  tracer.onEnter?.({ kind: 'CALL', from, to: from, value: 0n, gas: 0, input: data })
  tracer.onExit?.({ gasLeft: 0, output: EMPTY_BYTES })
}

function toTraced(transaction: SignedTransaction | DepositTransaction): TracedTransaction {
  const { from, to, gasLimit: gas } = transaction
  const authorizations = transaction.type === 0x7e ? [] : (transaction.authorizationList ?? [])
  return { from, to, gas, authorizations, isDeposit: transaction.type === 0x7e }
}
