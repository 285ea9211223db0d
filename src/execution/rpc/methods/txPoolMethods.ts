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
  const everyone = (show: Show, signal: AbortSignal) => {
    const senders = pool.senderAddresses().map((sender) => ({ sender, ...pool.content(sender) }))
    const kinds = KINDS.map((kind) => {
      const present = senders.filter(({ [kind]: transactions }) => transactions.length > 0)
      return [kind, present.map(({ sender, [kind]: list }) => [checksumAddress(sender), list] as const)] as const
    })
    return new StreamedJson(
      writeObject(kinds, (ofKind) => writeObject(ofKind, (list) => writeByNonce(list, show, signal))),
    )
  }
  const oneSender = (sender: Hex, signal: AbortSignal) => {
    const content = pool.content(sender)
    const kinds = KINDS.map((kind) => [kind, content[kind]] as const)
    return new StreamedJson(writeObject(kinds, (list) => writeByNonce(list, whole, signal)))
  }
  return {
    txpool_status: method([], () => {
      const { pending, queued } = pool.status()
      return { pending: toQuantity(pending), queued: toQuantity(queued) }
    }),
    txpool_content: method([], (_, { signal }) => everyone(whole, signal)),
    txpool_contentFrom: method([address], ([sender], { signal }) => oneSender(sender, signal)),
    txpool_inspect: method([], (_, { signal }) => everyone(inShort, signal)),
  }
}

// The pool's content at the start of the answer is streamed: a full pool gives 190 MB.

/** Yields to the event loop between transactions. Throws the signal's reason when it aborts. */
function writeByNonce(
  transactions: readonly SignedTransaction[],
  show: Show,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const byNonce = transactions.map((transaction) => [transaction.nonce, transaction] as const)
  return writeObject(byNonce, async function* (transaction) {
    await yieldToLoop('answer')
    signal.throwIfAborted()
    yield serialize(show(transaction))
  })
}

async function* writeObject<T>(
  members: readonly (readonly [name: string | number, value: T])[],
  write: (value: T) => AsyncGenerator<string>,
): AsyncGenerator<string> {
  let before = '{'
  for (const [name, value] of members) {
    yield `${before}"${name}":`
    yield* write(value)
    before = ','
  }
  yield members.length === 0 ? '{}' : '}'
}
