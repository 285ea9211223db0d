import { StreamedJson, serialize } from '../../../jsonRpc/bodyChunks.ts'
import { checksumAddress } from '../../../lib/checksumAddress.ts'
import { type Hex, toQuantity } from '../../../lib/hex.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import type { SignedTransaction } from '../../primitives/block.ts'
import type { MethodTable, RpcPool } from '../context.ts'
import { formatTransaction } from '../format/formatTransaction.ts'
import type { JsonRecord } from '../format/quantities.ts'
import { address, method } from '../params.ts'

const KINDS = ['pending', 'queued'] as const

type Show = (transaction: SignedTransaction) => JsonRecord | string

const whole: Show = (transaction) => formatTransaction(transaction, undefined)

const inShort: Show = ({ to, value, gasLimit, maxFeePerGas }) => {
  const target = to === null ? 'contract creation' : checksumAddress(to)
  return `${target}: ${value} wei + ${gasLimit} gas × ${maxFeePerGas} wei`
}

/** txpool_ namespace: the pool's transactions. */
export function createTxPoolMethods({
  pool,
}: {
  pool: Pick<RpcPool, 'status' | 'content' | 'senderAddresses'>
}): MethodTable {
  const everyone = (show: Show, signal: AbortSignal) => new StreamedJson(writeSenders(pool, show, signal))
  return {
    txpool_status: method([], () => {
      const { pending, queued } = pool.status()
      return { pending: toQuantity(pending), queued: toQuantity(queued) }
    }),
    txpool_content: method([], (_, { signal }) => everyone(whole, signal)),
    txpool_contentFrom: method(
      [address],
      ([sender], { signal }) => new StreamedJson(writeSender(pool, sender, signal)),
    ),
    txpool_inspect: method([], (_, { signal }) => everyone(inShort, signal)),
  }
}

// Streams the pool's content at the start of the answer: a full pool gives 190 MB. Yields to the event loop between
// transactions. Throws the signal's reason when it aborts.

async function* writeSenders(
  pool: Pick<RpcPool, 'content' | 'senderAddresses'>,
  show: Show,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const senders = pool.senderAddresses().map((sender) => ({ sender, ...pool.content(sender) }))
  let open = '{'
  for (const kind of KINDS) {
    yield `${open}"${kind}":`
    let separator = '{'
    for (const { sender, [kind]: transactions } of senders) {
      if (transactions.length === 0) continue
      yield `${separator}"${checksumAddress(sender)}":`
      yield* writeByNonce(transactions, show, signal)
      separator = ','
    }
    yield separator === '{' ? '{}' : '}'
    open = ','
  }
  yield '}'
}

async function* writeSender(pool: Pick<RpcPool, 'content'>, sender: Hex, signal: AbortSignal): AsyncGenerator<string> {
  const { pending, queued } = pool.content(sender)
  yield '{"pending":'
  yield* writeByNonce(pending, whole, signal)
  yield ',"queued":'
  yield* writeByNonce(queued, whole, signal)
  yield '}'
}

async function* writeByNonce(
  transactions: readonly SignedTransaction[],
  show: Show,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let separator = '{'
  for (const transaction of transactions) {
    await yieldToLoop('answer')
    signal.throwIfAborted()
    yield `${separator}"${transaction.nonce}":`
    yield serialize(show(transaction))
    separator = ','
  }
  yield separator === '{' ? '{}' : '}'
}
