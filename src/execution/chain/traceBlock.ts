import { BlockExecution } from '../block/blockExecution.ts'
import { contextOf } from '../evm/evmPool.ts'
import type { Patience } from '../evm/patience.ts'
import type { Block, BlockHeader, Transaction } from './block.ts'
import type { SimulationModules } from './simulation.ts'
import type { TracedTransaction, TransactionTracer } from './types.ts'

/** Runs the block's transactions up to `to` again, those from `from` on with a tracer each. */
export async function traceBlock(
  { evms, config, worldAt }: SimulationModules,
  { header, transactions }: Block,
  parent: BlockHeader,
  { from, to }: { from: number; to: number },
  tracers: () => TransactionTracer,
  client?: Patience,
): Promise<unknown[]> {
  using lease = evms.lease(worldAt(parent), contextOf(header), parent.hash, client)
  const { env } = lease
  const execution = new BlockExecution(env, config)
  await execution.begin({
    parentHash: parent.hash,
    parentTimestamp: parent.timestamp,
    parentBeaconBlockRoot: header.parentBeaconBlockRoot,
  })
  for (const earlier of transactions.slice(0, from)) await execution.add(earlier)
  const results: unknown[] = []
  for (const transaction of transactions.slice(from, to)) {
    const tracer = tracers()
    tracer.begin(env, toTraced(transaction))
    env.evm.tracer = tracer
    const outcome = await execution.add(transaction)
    env.evm.tracer = undefined
    results.push(tracer.end(outcome))
  }
  return results
}

function toTraced(transaction: Transaction): TracedTransaction {
  const { from, to, gasLimit: gas } = transaction
  const authorizations = transaction.type === 0x7e ? [] : (transaction.authorizationList ?? [])
  return { from, to, gas, authorizations }
}
