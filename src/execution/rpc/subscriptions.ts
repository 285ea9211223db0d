import { describeError } from '../../lib/errors.ts'
import { serialize } from '../../lib/jsonRpc/pieces.ts'
import { takeTurn } from '../../lib/turns.ts'
import type { SignedTransaction } from '../chain/block.ts'
import type { HeadChange } from '../chain/types.ts'
import { serverError } from './blockLookup.ts'
import type { RpcModules } from './context.ts'
import { formatHeader } from './formatBlock.ts'
import { formatTransaction } from './formatTransaction.ts'
import { createBloomTest, type LogFilter } from './logFilter.ts'
import { logsFor, readOnce } from './logSearch.ts'

/** Each is looked through with every block. */
const MAX_LOG_LISTENERS = 1_000

type Notify = (content: string) => void

interface LogListener {
  filter: LogFilter
  mayMatch: ReturnType<typeof createBloomTest>
  notify: Notify
}

/** Tells those who subscribed (eth_subscribe) of heads, logs and waiting transactions. Costs nothing while there are none. */
export class Subscriptions {
  private readonly modules: Pick<RpcModules, 'chain' | 'pool' | 'logger'>
  private readonly heads = new Set<Notify>()
  private readonly logs = new Set<LogListener>()
  private readonly hashes = new Set<Notify>()
  private readonly transactions = new Set<Notify>()
  private unsubscribe: (() => void)[] = []
  private tail: Promise<void> = Promise.resolve()

  constructor(modules: Pick<RpcModules, 'chain' | 'pool' | 'logger'>) {
    this.modules = modules
  }

  onHead(notify: Notify): () => void {
    return this.add(this.heads, notify)
  }

  /** Throws JsonRpcError when there are too many. */
  onLogs(filter: LogFilter, notify: Notify): () => void {
    if (this.logs.size >= MAX_LOG_LISTENERS) throw serverError('too many subscriptions of logs')
    return this.add(this.logs, { filter, mayMatch: createBloomTest(filter), notify })
  }

  /** Of transactions that come into the pool: hashes, or whole. */
  onTransaction(isWhole: boolean, notify: Notify): () => void {
    return this.add(isWhole ? this.transactions : this.hashes, notify)
  }

  private add<T>(listeners: Set<T>, listener: T): () => void {
    listeners.add(listener)
    if (this.unsubscribe.length === 0) {
      const { chain, pool } = this.modules
      this.unsubscribe = [chain.onHead((change) => this.follow(change)), pool.onAdded((added) => this.tellOf(added))]
    }
    return () => {
      listeners.delete(listener)
      if (this.heads.size + this.logs.size + this.hashes.size + this.transactions.size > 0) return
      for (const unsubscribe of this.unsubscribe) unsubscribe()
      this.unsubscribe = []
    }
  }

  private tellOf(transaction: SignedTransaction): void {
    for (const notify of this.hashes) notify(`"${transaction.hash}"`)
    if (this.transactions.size === 0) return
    const whole = serialize(formatTransaction(transaction, undefined))
    for (const notify of this.transactions) notify(whole)
  }

  private follow(change: HeadChange): void {
    this.tail = this.tail
      .then(() => this.tell(change))
      .catch((error: unknown) => {
        this.modules.logger.warn('Subscribers could not be told of the head', { err: describeError(error) })
      })
  }

  private async tell({ removed, added }: HeadChange): Promise<void> {
    for (const header of added) {
      const content = serialize(formatHeader(header))
      for (const notify of this.heads) notify(content)
    }
    const chain = readOnce(this.modules.chain)
    for (const { filter, mayMatch, notify } of this.logs) {
      for (const [headers, isRemoved] of [[removed, true] as const, [added, false] as const]) {
        for (const header of headers) {
          for (const log of await logsFor(chain, { filter, mayMatch }, header, isRemoved)) {
            await takeTurn('answer')
            notify(serialize(log))
          }
        }
      }
    }
  }
}
