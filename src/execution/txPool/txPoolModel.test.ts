import fc from 'fast-check'
import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import type { BlockHeader, SignedTransaction } from '../primitives/block.ts'
import { FakePoolChain } from '../testUtils/fakePoolChain.ts'
import { signTransaction, testAddress, testKey } from '../testUtils/signTransaction.ts'
import { TxPoolError } from './errors.ts'
import { TxPool } from './txPool.ts'

const SENDERS = [1, 2, 3]

/** A chain of blocks made from the pool's transactions, and the pool. */
class Run {
  readonly chain = new FakePoolChain()
  readonly pool = new TxPool(
    { chain: this.chain, logger: silentLogger, clock: new ManualClock(0) },
    { globalSlots: 8, globalQueue: 4, accountQueue: 3 },
  )
  private readonly mined: { header: BlockHeader; transactions: SignedTransaction[] }[] = []
  private readonly genesis = this.chain.head()
  private readonly nonces = new Map(SENDERS.map((sender) => [testAddress(sender), 0]))

  constructor() {
    for (const sender of SENDERS) this.chain.setAccount(testAddress(sender), {})
    this.pool.start()
  }

  async add(sender: number, ahead: number, tip: bigint): Promise<void> {
    const nonce = (this.nonces.get(testAddress(sender)) ?? 0) + ahead
    const transaction = signTransaction(testKey(sender), { nonce, maxPriorityFeePerGas: tip })
    try {
      await this.pool.add(transaction)
    } catch (error) {
      if (!(error instanceof TxPoolError)) throw error
    }
  }

  async mine(count: number): Promise<void> {
    const cursor = this.pool.best(this.chain.baseFee)
    const transactions: SignedTransaction[] = []
    for (let next = cursor.peek(); next !== undefined && transactions.length < count; next = cursor.peek()) {
      transactions.push(next)
      cursor.next()
    }
    const header = this.chain.block(transactions)
    this.mined.push({ header, transactions })
    this.countNonces(transactions, 1)
    this.chain.move(header, [header])
  }

  /** The last blocks are reorganised away without a replacement. */
  async unwind(count: number): Promise<void> {
    const removed = this.mined.splice(Math.max(0, this.mined.length - count)).reverse()
    for (const { transactions } of removed) this.countNonces(transactions, -1)
    const head = this.mined.at(-1)?.header ?? this.genesis
    this.chain.move(
      head,
      [],
      removed.map(({ header }) => header),
    )
  }

  private countNonces(transactions: readonly SignedTransaction[], step: 1 | -1): void {
    for (const { from } of transactions) this.nonces.set(from, (this.nonces.get(from) ?? 0) + step)
    for (const [address, nonce] of this.nonces) this.chain.setAccount(address, { nonce: BigInt(nonce) })
  }

  async check(): Promise<void> {
    // The pool handles the head change before any addition. This addition is always refused.
    await this.pool.add(signTransaction(testKey(9), {})).catch(() => {})
    let pendingCount = 0
    let queuedCount = 0
    for (const sender of SENDERS) {
      const address = testAddress(sender)
      const nonce = this.nonces.get(address) ?? 0
      const { pending, queued } = this.pool.content(address)
      expect(pending.map((tx) => tx.nonce)).toEqual(pending.map((_, index) => nonce + index))
      const next = nonce + pending.length
      for (const tx of queued) expect(tx.nonce).toBeGreaterThan(next)
      if (pending.length + queued.length > 0) expect(this.pool.nextNonce(address)).toBe(next)
      for (const tx of [...pending, ...queued]) expect(this.pool.get(tx.hash)).toBe(tx)
      pendingCount += pending.length
      queuedCount += queued.length
    }
    expect(this.pool.status()).toEqual({ pending: pendingCount, queued: queuedCount })
    const offered: SignedTransaction[] = []
    const cursor = this.pool.best(this.chain.baseFee)
    for (let next = cursor.peek(); next !== undefined; next = cursor.peek()) {
      offered.push(next)
      cursor.next()
    }
    expect(offered).toHaveLength(pendingCount)
  }
}

it('the pool offers exactly the executable transactions over random additions, blocks and reorgs', async () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('add' as const),
        sender: fc.constantFrom(...SENDERS),
        ahead: fc.integer({ min: -1, max: 5 }).map((ahead) => Math.max(0, ahead)),
        tip: fc.bigInt({ min: 1n, max: 5n }).map((tip) => tip * 1_000_000n),
      }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('mine' as const), count: fc.integer({ min: 0, max: 5 }) }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('unwind' as const), count: fc.integer({ min: 1, max: 3 }) }),
    },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const run = new Run()
      for (const step of steps) {
        if (step.kind === 'add') await run.add(step.sender, step.ahead, step.tip)
        else if (step.kind === 'mine') await run.mine(step.count)
        else await run.unwind(step.count)
        await run.check()
      }
      await run.pool.stop()
    }),
    { numRuns: propertyRuns(60) },
  )
})
