import { checksumAddress } from '../../lib/checksumAddress.ts'
import { toQuantity } from '../../lib/hex.ts'
import { PieceWriter, serialize, WrittenJson } from '../../lib/jsonRpc/pieces.ts'
import { SerialLock } from '../../lib/serialLock.ts'
import { takeTurn } from '../../lib/turns.ts'
import type { SignedTransaction } from '../chain/block.ts'
import type { MethodTable, RpcPool } from './context.ts'
import { formatTransaction, type JsonRecord } from './formatTransaction.ts'
import { address, method } from './params.ts'

type Show = (transaction: SignedTransaction) => JsonRecord | string

const whole: Show = (transaction) => formatTransaction(transaction, undefined)

const inShort: Show = ({ to, value, gasLimit, maxFeePerGas }) => {
  const target = to === null ? 'contract creation' : checksumAddress(to)
  return `${target}: ${value} wei + ${gasLimit} gas × ${maxFeePerGas} wei`
}

/** txpool_ namespace: what waits for a block. */
export function createTxPoolMethods({
  pool,
}: {
  pool: Pick<RpcPool, 'status' | 'content' | 'senderAddresses'>
}): MethodTable {
  // A full pool is an answer of 190 MB: one is written at a time.
  const lock = new SerialLock()
  const everyone = (show: Show, signal: AbortSignal) =>
    lock.run(() => {
      signal.throwIfAborted()
      return writeEveryone(pool, show, signal)
    })
  return {
    txpool_status: method([], () => {
      const { pending, queued } = pool.status()
      return { pending: toQuantity(pending), queued: toQuantity(queued) }
    }),
    txpool_content: method([], (_, { signal }) => everyone(whole, signal)),
    txpool_contentFrom: method([address], ([sender], { signal }) =>
      lock.run(async () => {
        const { pending, queued } = pool.content(sender)
        const writer = new PieceWriter()
        writer.add('{"pending":')
        await writeByNonce(writer, pending, whole, signal)
        writer.add(',"queued":')
        await writeByNonce(writer, queued, whole, signal)
        writer.add('}')
        return new WrittenJson(writer.end())
      }),
    ),
    txpool_inspect: method([], (_, { signal }) => everyone(inShort, signal)),
  }
}

/** As the pool is when a sender's turn comes: others have their turns of the loop between transactions. */
async function writeEveryone(
  pool: Pick<RpcPool, 'content' | 'senderAddresses'>,
  show: Show,
  signal: AbortSignal,
): Promise<WrittenJson> {
  const writers = { pending: new PieceWriter(), queued: new PieceWriter() }
  const separators = { pending: '', queued: '' }
  for (const sender of pool.senderAddresses()) {
    const content = pool.content(sender)
    for (const kind of ['pending', 'queued'] as const) {
      if (content[kind].length === 0) continue
      writers[kind].add(`${separators[kind]}"${checksumAddress(sender)}":`)
      separators[kind] = ','
      await writeByNonce(writers[kind], content[kind], show, signal)
    }
  }
  const whole = new PieceWriter()
  whole.add('{"pending":{')
  for (const piece of writers.pending.end()) whole.add(piece)
  whole.add('},"queued":{')
  for (const piece of writers.queued.end()) whole.add(piece)
  whole.add('}}')
  return new WrittenJson(whole.end())
}

/** Throws the reason of the signal when it aborts meanwhile. */
async function writeByNonce(
  writer: PieceWriter,
  transactions: readonly SignedTransaction[],
  show: Show,
  signal: AbortSignal,
): Promise<void> {
  let separator = '{'
  for (const transaction of transactions) {
    await takeTurn('answer')
    signal.throwIfAborted()
    writer.add(`${separator}"${transaction.nonce}":`)
    writer.add(serialize(show(transaction)))
    separator = ','
  }
  writer.add(transactions.length === 0 ? '{}' : '}')
}
