import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import type { Logger } from '../../lib/logger.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import type { FeeSchedule } from '../block/executeTransaction.ts'
import type { DaSizeLimits, TxCursor, TxSource } from '../chain/building.ts'
import type { Chain } from '../chain/opChain.ts'
import type { StateReader } from '../chain/stateReader.ts'
import type { HeadChange } from '../chain/types.ts'
import { MAX_TX_GAS } from '../evm/intrinsicGas.ts'
import type { Environment } from '../evm/runMessage.ts'
import { storageWord } from '../evm/storageWord.ts'
import { isSigned, type SignedTransaction } from '../primitives/block.ts'
import { EMPTY_STORAGE_ROOT } from '../state/account.ts'
import { effectiveTip } from '../tx/effectiveTip.ts'
import { blockProblem, stateProblem } from './condition.ts'
import { authoritiesOf, checkDelegated } from './delegated.ts'
import { EntryIndex } from './entryIndex.ts'
import { TxPoolError } from './errors.ts'
import { DEFAULT_TX_POOL_OPTIONS, type TxPoolOptions } from './options.ts'
import { checkReplacement } from './replacement.ts'
import { type PoolEntry, SenderQueue, slotsOf } from './senderQueue.ts'
import { createTxCursor } from './txCursor.ts'
import { checkAccount, checkTransaction, maxTransactionGas, transactionCost } from './validation.ts'

/** The part of the chain that the pool reads. */
export type PoolChain = Pick<
  Chain,
  'config' | 'isForkActive' | 'head' | 'blockByHash' | 'stateAt' | 'l1Fees' | 'nextBaseFee' | 'onHead'
>

export interface TxPoolModules {
  chain: PoolChain
  logger: Logger
  clock: Clock
}

/** Transactions of one sender as in txpool_*, by rising nonce. */
export interface SenderContent {
  pending: SignedTransaction[]
  queued: SignedTransaction[]
}

const EMPTY_CODE_HASH = '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470'
const SWEEP_INTERVAL_MS = 60_000
/** As geth. A deeper reorg returns no transactions to the pool: that could take minutes. */
const MAX_REORG_BLOCKS = 64

/**
 * Pending transactions: legacy, access list, dynamic fee and set code. Additions and head changes run one at a time, in
 * order of arrival.
 */
export class TxPool implements TxSource {
  private readonly modules: TxPoolModules
  private readonly options: TxPoolOptions
  private readonly senders = new Map<Hex, SenderQueue>()
  private readonly entries = new EntryIndex()
  private slots = { pending: 0, queued: 0 }
  private sequence = 0
  private daLimits: DaSizeLimits = {}
  private builtGasLimit: bigint
  private readonly lock = createSemaphore(1)
  private waiters = new Set<() => void>()
  private takeListeners = new Set<(transaction: SignedTransaction) => void>()
  private addListeners = new Set<(transaction: SignedTransaction) => void>()
  /** State and fees of one head, read once. */
  private view: { blockHash: Hex; state: StateReader; fees: FeeSchedule } | undefined
  private stopped: (() => void)[] | undefined

  constructor(modules: TxPoolModules, options: Partial<TxPoolOptions> = {}) {
    this.modules = modules
    this.options = { ...DEFAULT_TX_POOL_OPTIONS, ...options }
    this.builtGasLimit = this.options.effectiveGasLimit
  }

  start(): void {
    if (this.stopped !== undefined) return
    const unsubscribe = this.modules.chain.onHead((change) => {
      this.exclusive(() => this.onHead(change)).catch((error: unknown) => {
        this.modules.logger.warn('Failed to update the transaction pool for the new head', {
          err: describeError(error),
        })
      })
    })
    let cancelSweep = () => {}
    const sweep = () => {
      cancelSweep = this.modules.clock.setTimeout(sweep, SWEEP_INTERVAL_MS)
      void this.exclusive(async () => this.dropExpired())
    }
    cancelSweep = this.modules.clock.setTimeout(sweep, SWEEP_INTERVAL_MS)
    this.stopped = [unsubscribe, () => cancelSweep()]
  }

  /** Resolves when the running task is done. */
  async stop(): Promise<void> {
    for (const stop of this.stopped ?? []) stop()
    this.stopped = undefined
    await this.lock.run(async () => {})
  }

  mayTake(transaction: SignedTransaction, { world, block }: Environment): boolean {
    const { condition, hash } = transaction
    if (condition === undefined) return true
    const view = {
      storageRoot: (address: Hex) => toHex(world.account(address)?.storageRoot ?? EMPTY_STORAGE_ROOT),
      storage: (address: Hex, slot: Hex) => storageWord(world.storage(address, slot)),
    }
    const problem = blockProblem(condition, block) ?? stateProblem(condition, view)
    if (problem === undefined) return true
    this.modules.logger.debug('Dropped a transaction whose condition does not hold', { hash, problem })
    void this.exclusive(async () => {
      const entry = this.entries.get(hash)
      if (entry !== undefined) this.remove(entry)
    })
    return false
  }

  /** Throws TxPoolError with geth's message if the transaction is refused. */
  add(transaction: SignedTransaction): Promise<void> {
    return this.exclusive(() => this.insert(transaction))
  }

  get(hash: Hex): SignedTransaction | undefined {
    return this.entries.get(hash)?.transaction
  }

  /** The nonce after the sender's executable transactions. Undefined if the sender has none in the pool. */
  nextNonce(sender: Hex): number | undefined {
    return this.senders.get(sender)?.nextNonce
  }

  status(): { pending: number; queued: number } {
    let pending = 0
    let queued = 0
    for (const queue of this.senders.values()) {
      pending += queue.pending.length
      queued += queue.queued.length
    }
    return { pending, queued }
  }

  content(sender: Hex): SenderContent {
    const queue = this.senders.get(sender)
    const transactions = (entries: readonly PoolEntry[] = []) => entries.map((entry) => entry.transaction)
    return { pending: transactions(queue?.pending), queued: transactions(queue?.queued) }
  }

  senderAddresses(): Hex[] {
    return [...this.senders.keys()]
  }

  best(baseFee: bigint): TxCursor {
    const lanes = function* (queues: Iterable<SenderQueue>) {
      for (const queue of queues) if (queue.pending.length > 0) yield [...queue.pending]
    }
    return createTxCursor(lanes(this.senders.values()), baseFee, this.options.minBlockTipWei)
  }

  /** Gas limit of the blocks built here, if lower than the header's; 0 = none. */
  get effectiveGasLimit(): bigint {
    return this.builtGasLimit
  }

  /**
   * Applies from the next transaction of a block on. Unlike the option, it drops no transaction, since it may be raised
   * again.
   */
  setEffectiveGasLimit(gasLimit: bigint): void {
    this.builtGasLimit = gasLimit
  }

  maxDaSize(): DaSizeLimits {
    return this.daLimits
  }

  /** Applies from the next transaction on that a block adds. op-batcher lowers it while L1 is congested. */
  setMaxDaSize(limits: DaSizeLimits): void {
    this.daLimits = limits
  }

  added(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason)
      const onAbort = () => {
        this.waiters.delete(done)
        reject(signal.reason)
      }
      const done = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      signal.addEventListener('abort', onAbort, { once: true })
      this.waiters.add(done)
    })
  }

  /** Called for each transaction that became executable or replaced an executable one. */
  onAdded(listener: (transaction: SignedTransaction) => void): () => void {
    this.addListeners.add(listener)
    return () => this.addListeners.delete(listener)
  }

  /** Called for each accepted transaction, even after a nonce gap. */
  onTaken(listener: (transaction: SignedTransaction) => void): () => void {
    this.takeListeners.add(listener)
    return () => this.takeListeners.delete(listener)
  }

  private exclusive<T>(task: () => Promise<T>): Promise<T> {
    return this.lock.run(async () => {
      await yieldToLoop()
      return task()
    })
  }

  private async insert(transaction: SignedTransaction): Promise<void> {
    const { chain } = this.modules
    if (this.entries.get(transaction.hash) !== undefined) throw new TxPoolError('already-known')
    checkTransaction(transaction, chain, chain.head(), this.options)
    const { state, fees } = await this.currentView()
    const account = state.account(transaction.from)
    const accountNonce = Number(account?.nonce ?? 0n)
    const existing = this.senders.get(transaction.from)
    const queue = existing ?? new SenderQueue(accountNonce)
    // The head may have moved while its notification still waits for this call.
    if (queue.accountNonce !== accountNonce) this.rebuild(queue, accountNonce)
    const previous = queue.get(transaction.nonce)
    const cost = transactionCost(transaction, fees)
    checkAccount(transaction, account ?? { nonce: 0n, balance: 0n }, cost, queue.pendingCostWithout(transaction.nonce))
    const isDelegated = account !== undefined && account.codeHash !== EMPTY_CODE_HASH
    if (isDelegated || this.entries.isAuthority(transaction.from)) checkDelegated(transaction, queue)
    const entry: PoolEntry = {
      transaction,
      cost,
      authorities: new Set(),
      addedAtMs: this.modules.clock.now(),
      sequence: this.sequence++,
      freeReplacements: 0,
    }
    const executable = transaction.nonce <= queue.nextNonce
    if (previous !== undefined) checkReplacement(previous, entry, this.nextBaseFee(), this.options.priceBumpPercent)
    else if (!executable && queue.queued.length >= this.options.accountQueue) {
      throw new TxPoolError('account-limit', `at most ${this.options.accountQueue} transactions after a nonce gap`)
    }
    entry.authorities = await authoritiesOf(transaction)
    for (const authority of entry.authorities) {
      if ((this.senders.get(authority)?.size ?? 0) > 1) throw new TxPoolError('authority-reserved')
    }
    this.evict(entry, executable, previous === undefined ? 0 : slotsOf(previous))
    this.senders.set(transaction.from, queue)
    const gained = this.change(queue, () => {
      if (previous !== undefined) this.entries.delete(previous)
      this.entries.add(entry)
      return queue.set(entry)
    })
    this.modules.logger.debug('Pooled new transaction', {
      hash: transaction.hash,
      from: transaction.from,
      nonce: transaction.nonce,
      executable: gained,
    })
    for (const listener of this.takeListeners) listener(transaction)
    if (gained && previous !== undefined) this.announce([entry])
  }

  /** If the pool is full, evicts cheaper transactions that no other depends on. `freed` slots become free anyway. */
  private evict(entry: PoolEntry, executable: boolean, freed: number): void {
    const kind = executable ? 'pending' : 'queued'
    const limit = executable ? this.options.globalSlots : this.options.globalQueue
    const baseFee = this.nextBaseFee()
    const tip = effectiveTip(entry.transaction, baseFee)
    while (this.slots[kind] - freed + slotsOf(entry) > limit) {
      // A replacement that is not larger needs no space.
      if (freed >= slotsOf(entry)) return
      const victim = this.cheapestTail(kind, baseFee, entry.transaction.from)
      if (victim === undefined) throw new TxPoolError('pool-full')
      if (effectiveTip(victim.transaction, baseFee) >= tip) {
        throw new TxPoolError(executable ? 'underpriced' : 'pool-full')
      }
      this.remove(victim)
    }
  }

  private cheapestTail(kind: 'pending' | 'queued', baseFee: bigint, notOf: Hex): PoolEntry | undefined {
    let cheapest: { entry: PoolEntry; tip: bigint } | undefined
    for (const [sender, queue] of this.senders) {
      const entry = queue[kind].at(-1)
      if (entry === undefined || sender === notOf) continue
      const tip = effectiveTip(entry.transaction, baseFee)
      if (cheapest === undefined || tip < cheapest.tip) cheapest = { entry, tip }
    }
    return cheapest?.entry
  }

  private nextBaseFee(): bigint {
    const head = this.modules.chain.head()
    return this.modules.chain.nextBaseFee(head, head.timestamp + 1)
  }

  private remove(entry: PoolEntry): void {
    const { transaction } = entry
    const queue = this.senders.get(transaction.from)
    this.entries.delete(entry)
    if (queue === undefined) return
    this.change(queue, () => queue.delete(transaction.nonce))
    if (queue.size === 0) this.senders.delete(transaction.from)
  }

  /** Keeps the totals in step with a queue that `mutate` changes. Announces transactions that became executable. */
  private change<T>(queue: SenderQueue, mutate: () => T): T {
    const before = queue.nextNonce
    this.slots.pending -= queue.slots.pending
    this.slots.queued -= queue.slots.queued
    try {
      return mutate()
    } finally {
      this.slots.pending += queue.slots.pending
      this.slots.queued += queue.slots.queued
      this.announce(queue.pendingFrom(before))
    }
  }

  private rebuild(queue: SenderQueue, accountNonce: number, keep?: (entry: PoolEntry) => boolean): void {
    const dropped = this.change(queue, () => queue.rebuild(accountNonce, keep))
    for (const entry of dropped) this.entries.delete(entry)
  }

  private async currentView(): Promise<{ state: StateReader; fees: FeeSchedule }> {
    const { chain } = this.modules
    const { hash } = chain.head()
    if (this.view?.blockHash !== hash) {
      const [state, fees] = await Promise.all([chain.stateAt(hash), chain.l1Fees()])
      if (state === undefined) throw new TxPoolError('pool-full', 'the state of the head block is not available')
      this.view = { blockHash: hash, state, fees }
    }
    return this.view
  }

  private async onHead({ removed, added }: HeadChange): Promise<void> {
    const isDeep = removed.length > MAX_REORG_BLOCKS
    if (isDeep) this.modules.logger.info('Returned no transactions after a deep reorg', { blocks: removed.length })
    const returned = isDeep ? [] : await this.transactionsOf(removed.map(({ hash }) => hash).reverse())
    await this.revalidate()
    if (returned.length === 0) return
    const mined = new Set((await this.transactionsOf(added.map(({ hash }) => hash))).map(({ hash }) => hash))
    for (const transaction of returned) {
      if (mined.has(transaction.hash)) continue
      await yieldToLoop()
      try {
        await this.insert(transaction)
      } catch (error) {
        this.modules.logger.debug('Dropped a transaction of a replaced block', {
          hash: transaction.hash,
          err: describeError(error),
        })
      }
    }
  }

  private async transactionsOf(blocks: readonly Hex[]): Promise<SignedTransaction[]> {
    const transactions: SignedTransaction[] = []
    for (const hash of blocks) {
      await yieldToLoop()
      const block = await this.modules.chain.blockByHash(hash)
      for (const transaction of block?.transactions ?? []) {
        if (isSigned(transaction)) transactions.push(transaction)
      }
    }
    return transactions
  }

  /**
   * After a new head: drops transactions that are mined, too expensive for their sender or too large. Promotes those
   * that became executable.
   */
  private async revalidate(): Promise<void> {
    if (this.senders.size === 0) return
    const { state, fees } = await this.currentView()
    const { chain } = this.modules
    let maxGas = maxTransactionGas(chain.head(), this.options.effectiveGasLimit)
    if (maxGas > MAX_TX_GAS && chain.isForkActive('karst', chain.head().timestamp)) maxGas = MAX_TX_GAS
    for (const [sender, queue] of [...this.senders]) {
      const account = state.account(sender)
      const keep = (entry: PoolEntry): boolean => {
        entry.cost = transactionCost(entry.transaction, fees)
        return entry.cost <= (account?.balance ?? 0n) && entry.transaction.gasLimit <= maxGas
      }
      this.rebuild(queue, Number(account?.nonce ?? 0n), keep)
      if (queue.size === 0) this.senders.delete(sender)
      await yieldToLoop()
    }
  }

  private dropExpired(): void {
    const oldest = this.modules.clock.now() - this.options.lifetimeMs
    for (const queue of [...this.senders.values()]) {
      for (const entry of [...queue.queued]) if (entry.addedAtMs < oldest) this.remove(entry)
    }
  }

  private announce(entries: readonly PoolEntry[]): void {
    if (entries.length === 0) return
    for (const { transaction } of entries) for (const listener of this.addListeners) listener(transaction)
    const waiters = this.waiters
    this.waiters = new Set()
    for (const wake of waiters) wake()
  }
}
