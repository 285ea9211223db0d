import { decodeTransaction } from '../../rollup/protocol/index.ts'
import { encodePostExecTx } from '../../rollup/protocol/transaction/postExec.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import type { Transaction } from '../primitives/block.ts'
import { createMemoryBlock, deposit, type MemoryBlock, type MemoryBlockOptions } from './memoryBlock.ts'

/** L1 info of Jovian and later, with this DA footprint scalar. */
export function jovianInfo(scalar = 400) {
  const data = new Uint8Array(178)
  data.set([0x3d, 0xb6, 0xbe, 0x2b])
  new DataView(data.buffer).setUint16(176, scalar)
  return deposit({ gasLimit: 30_000n, data, to: `0x${'99'.repeat(20)}` })
}

/**
 * A block of Lagoon. It executes the L1 info, these transactions and, if there are refunds, the post-exec transaction.
 */
export async function executeRefunded(
  options: MemoryBlockOptions,
  transactions: readonly Transaction[],
  refunds: ReadonlyMap<number, bigint> = new Map(),
): Promise<MemoryBlock> {
  const block = createMemoryBlock({ fork: 'lagoon', ...options })
  const all: Transaction[] = [jovianInfo(), ...transactions]
  if (refunds.size > 0) {
    const entries = [...refunds].map(([index, gasRefund]) => ({ index, gasRefund }))
    const blockNumber = block.execution.env.block.number
    all.push(decodeTransaction(encodePostExecTx({ version: 1, blockNumber, refunds: entries })))
  }
  await begin(block, all)
  for (const tx of all) await block.execution.add(tx)
  return block
}

/** A block of Lagoon that refunds warmed accesses. Resolves with the refunds by index of `transactions`. */
export async function executeWarming(
  options: MemoryBlockOptions,
  transactions: readonly Transaction[],
): Promise<(bigint | undefined)[]> {
  const block = createMemoryBlock({ fork: 'lagoon', ...options })
  await begin(block, [])
  block.execution.refundWarming()
  for (const tx of [jovianInfo(), ...transactions]) await block.execution.add(tx)
  const made = new Map(block.execution.madeRefunds.map(({ index, gasRefund }) => [index - 1, gasRefund]))
  return transactions.map((_, index) => made.get(index))
}

function begin({ execution }: MemoryBlock, transactions: readonly Transaction[]): Promise<void> {
  const timestamp = execution.env.block.timestamp - 2
  return execution.begin(
    { parent: { hash: ZERO_HASH, timestamp } },
    transactions.map(({ raw }) => raw),
  )
}
