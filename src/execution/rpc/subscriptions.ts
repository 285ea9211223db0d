import { serialize } from '../../jsonRpc/bodyChunks.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import type { Chain } from '../chain/opChain.ts'
import type { HeadChange } from '../chain/types.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import type { RpcPool } from './context.ts'
import { serverError } from './errors.ts'
import { formatHeader } from './format/formatBlock.ts'
import { formatTransaction } from './format/formatTransaction.ts'
import { createBloomTest, type LogFilter, limitCriteria } from './logs/logFilter.ts'
import { logsFor, readOnce } from './logs/logSearch.ts'

/** Most log subscriptions on all connections. Each new block is searched once for each of them. */
const MAX_LOG_LISTENERS = 1_000
/** Most subscriptions of each other kind, on all connections. */
const MAX_LISTENERS = 5_000
/** geth drops a subscriber with this many waiting notifications (`rpc/client.go`, maxClientSubscriptionBuffer). */
const MAX_WAITING_TRANSACTIONS = 20_000

/** The content is serialized once for all subscribers. */
type Notify = (content: string | Uint8Array) => void

interface LogListener {
  filter: LogFilter
  mayMatch: ReturnType<typeof createBloomTest>
  notify: Notify
}

export interface SubscriptionModules {
  chain: Pick<Chain, 'onHead' | 'receipts'>
  pool: Pick<RpcPool, 'onAdded'>
  logger: Pick<Logger, 'warn'>
}

/** Notifies subscribers (eth_subscribe) of heads, logs and pool transactions. Does nothing without subscribers. */
export class Subscriptions {
  private readonly modules: SubscriptionModules
  private readonly heads = new Set<Notify>()
  private readonly logs = new Set<LogListener>()
  private readonly hashes = new Set<Notify>()
  private readonly transactions = new Set<Notify>()
  private unsubscribe: (() => void)[] = []
  private tail: Promise<void> = Promise.resolve()
  /** Transactions with pending notifications. */
  private waitingTransactions = 0

  constructor(modules: SubscriptionModules) {
    this.modules = modules
  }

  /** Throws JsonRpcError if there are too many subscriptions, like the other two. */
  onHead(notify: Notify): () => void {
    return this.add(this.heads, notify, MAX_LISTENERS)
  }

  onLogs(filter: LogFilter, notify: Notify): () => void {
    limitCriteria([filter, ...[...this.logs].map((other) => other.filter)])
    return this.add(this.logs, { filter, mayMatch: createBloomTest(filter), notify }, MAX_LOG_LISTENERS)
  }

  /** Notifies of transactions that enter the pool: hashes, or full transactions. */
  onTransaction(isWhole: boolean, notify: Notify): () => void {
    return this.add(isWhole ? this.transactions : this.hashes, notify, MAX_LISTENERS)
  }

  private add<T>(listeners: Set<T>, listener: T, max: number): () => void {
    if (listeners.size >= max) throw serverError(`too many subscriptions of this kind: at most ${max}`)
    listeners.add(listener)
    if (this.unsubscribe.length === 0) {
      const { chain, pool } = this.modules
      this.unsubscribe = [
        chain.onHead((change) => this.follow(change)),
        pool.onAdded((added) => this.notifyTransaction(added)),
      ]
    }
    return () => {
      listeners.delete(listener)
      if (this.heads.size + this.logs.size + this.hashes.size + this.transactions.size > 0) return
      for (const unsubscribe of this.unsubscribe) unsubscribe()
      this.unsubscribe = []
    }
  }

  private notifyTransaction(transaction: SignedTransaction): void {
    if (this.hashes.size + this.transactions.size === 0) return
    if (this.waitingTransactions >= MAX_WAITING_TRANSACTIONS) return
    this.waitingTransactions += 1
    this.inOrder(async () => {
      this.waitingTransactions -= 1
      await notifyAll(this.hashes, () => `"${transaction.hash}"`)
      await notifyAll(this.transactions, () => serialize(formatTransaction(transaction, undefined)))
    })
  }

  private follow(change: HeadChange): void {
    this.inOrder(() => this.notify(change))
  }

  /** Runs after all earlier notifications. */
  private inOrder(notify: () => Promise<void>): void {
    this.tail = this.tail.then(notify).catch((error: unknown) => {
      this.modules.logger.warn('Failed to notify subscribers', { err: describeError(error) })
    })
  }

  private async notify({ removed, added }: HeadChange): Promise<void> {
    for (const header of added) {
      await notifyAll(this.heads, () => serialize(formatHeader(header)))
    }
    const chain = readOnce(this.modules.chain)
    for (const { filter, mayMatch, notify } of this.logs) {
      await yieldToLoop('answer')
      for (const [headers, isRemoved] of [[removed, true] as const, [added, false] as const]) {
        for (const header of headers) {
          for (const log of await logsFor(chain, { filter, mayMatch }, header, isRemoved)) {
            await yieldToLoop('answer')
            notify(serialize(log))
          }
        }
      }
    }
  }
}

/** Yields to the event loop between subscribers. The bytes are shared by all connections. */
async function notifyAll(listeners: ReadonlySet<Notify>, write: () => string): Promise<void> {
  if (listeners.size === 0) return
  const content = Buffer.from(write())
  // A new subscriber gets the next notification.
  for (const notify of [...listeners]) {
    await yieldToLoop('answer')
    if (listeners.has(notify)) notify(content)
  }
}
