import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { EMPTY_TRIE_ROOT, ZERO_HASH } from '../../rollup/protocol/index.ts'
import type { TxSource } from '../chain/building.ts'
import { sealHeader } from '../chain/storage/headerCodec.ts'
import type { BlockHeader, SignedTransaction } from '../primitives/block.ts'
import { COINBASE, createMemoryBlock, deposit, type MemoryAccount } from '../testUtils/memoryBlock.ts'
import { signTransaction, testAddress, testKey } from '../testUtils/signTransaction.ts'
import { type BuildOptions, OpBuildJob } from './buildJob.ts'
import { SlowTransactions } from './slowTransactions.ts'

const ETHER = 10n ** 18n

/** A pool to which transactions are added one by one. */
class SlowPool implements TxSource {
  readonly transactions: SignedTransaction[] = []
  private wakeUp = Promise.withResolvers<void>()
  private walked = Promise.withResolvers<void>()

  best() {
    let position = 0
    return {
      peek: () => {
        if (position >= this.transactions.length) this.walked.resolve()
        return this.transactions[position]
      },
      next: () => {
        position++
      },
      skipSender: () => {
        const from = this.transactions[position]?.from
        while (this.transactions[position]?.from === from && from !== undefined) position++
      },
    }
  }

  added(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      this.wakeUp.promise.then(resolve, reject)
    })
  }

  /** Resolves once a builder has seen these too. */
  async add(...transactions: SignedTransaction[]): Promise<void> {
    this.transactions.push(...transactions)
    const { resolve } = this.wakeUp
    this.wakeUp = Promise.withResolvers()
    this.walked = Promise.withResolvers()
    resolve()
    await this.walked.promise
  }
}

const ENDLESS: Hex = `0x${'ee'.repeat(20)}`

function scene(
  txSource?: TxSource,
  attributes: Partial<BuildOptions['attributes']> = {},
  slow = new SlowTransactions(),
) {
  const accounts: Record<Hex, MemoryAccount> = { [ENDLESS]: { code: '0x5b600160005401600055600056' } }
  for (const index of [1, 2, 3]) accounts[testAddress(index)] = { balance: ETHER }
  const { world, config } = createMemoryBlock({ fork: 'granite', accounts })
  const parent: BlockHeader = sealHeader({
    parentHash: ZERO_HASH,
    unclesHash: ZERO_HASH,
    coinbase: COINBASE,
    stateRoot: world.commit().root,
    transactionsRoot: EMPTY_TRIE_ROOT,
    receiptsRoot: EMPTY_TRIE_ROOT,
    logsBloom: `0x${'00'.repeat(256)}`,
    difficulty: 0n,
    number: 6,
    gasLimit: 30_000_000n,
    gasUsed: 0n,
    timestamp: 998,
    extraData: '0x',
    mixHash: ZERO_HASH,
    nonce: '0x0000000000000000',
    baseFeePerGas: 1_000_000_000n,
  })
  const ancestry = { header: () => parent, canonicalHeader: () => undefined, isCanonical: () => false }
  const clock = new ManualClock()
  const modules = {
    evm: { config, ancestry },
    world,
    clock,
    slow,
    logger: silentLogger,
    txSource,
    onBuilt: () => {},
  }
  const start = () =>
    OpBuildJob.start(modules, {
      parent,
      attributes: {
        timestamp: 1000,
        prevRandao: ZERO_HASH,
        suggestedFeeRecipient: COINBASE,
        withdrawals: [],
        parentBeaconBlockRoot: ZERO_HASH,
        transactions: [deposit({ mint: 5n }).raw],
        noTxPool: txSource === undefined,
        gasLimit: 30_000_000n,
        ...attributes,
      },
      refundsWarming: false,
    })
  return { start, clock }
}

const transfer = (key: number, nonce = 0, gasLimit = 21_000n) =>
  signTransaction(testKey(key), { nonce, gasLimit, value: 1n })

describe('a block under construction', () => {
  it('includes transactions that enter the pool until it is sealed', async () => {
    const pool = new SlowPool()
    const job = await scene(pool).start()
    await pool.add(transfer(1))
    await pool.add(transfer(2), transfer(1, 1))
    const built = await job.seal()
    expect(built.block.transactions.slice(1).map(({ from }) => from)).toEqual([1, 2, 1].map(testAddress))
    expect(built.receipts.map(({ status }) => status)).toEqual([1, 1, 1, 1])
    await pool.transactions.push(transfer(3))
    expect(await job.seal()).toBe(built)
  })

  it('includes the transactions that were in the pool at its start, until its time limit', async () => {
    const pool = new SlowPool()
    const waiting = Array.from({ length: 20 }, (_, nonce) => transfer(1, nonce))
    pool.transactions.push(...waiting)
    const prompt = await scene(pool).start()
    const { block } = await prompt.seal()
    expect(block.transactions.slice(1).map(({ hash }) => hash)).toEqual(waiting.map(({ hash }) => hash))

    const { start, clock } = scene({
      added: (signal) => pool.added(signal),
      best() {
        const cursor = pool.best()
        const next = (): void => {
          cursor.next()
          void clock.advance(100)
        }
        return { ...cursor, next }
      },
    })
    const slow = await (await start()).seal()
    expect(slow.block.transactions.length).toBeLessThan(waiting.length)
  })

  it('skips transactions that do not fit or cannot run, and continues with others', async () => {
    const pool = new SlowPool()
    const job = await scene(pool, { gasLimit: 200_000n }).start()
    // A future nonce, more gas than the block has, then a good one.
    await pool.add(transfer(1, 5), transfer(2, 0, 190_000n), transfer(3))
    const { block } = await job.seal()
    expect(block.transactions.slice(1).map(({ from }) => from)).toEqual([testAddress(3)])
    expect(block.header.gasUsed).toBeLessThanOrEqual(200_000n)
  })

  it('is filled only up to the effective gas limit, also with forced transactions', async () => {
    const pool = new SlowPool()
    const forced = deposit({ mint: 5n, gasLimit: 500_000n }).raw
    const [first, dear, last] = [transfer(1), transfer(2, 0, 50_001n), transfer(3)]
    pool.transactions.push(first, dear, last)
    const limited: TxSource = {
      effectiveGasLimit: 92_000n,
      added: (signal) => pool.added(signal),
      best: () => pool.best(),
    }
    const job = await scene(limited, { transactions: [forced, forced] }).start()
    const { block } = await job.seal()
    // Two deposits of 21,000 gas, then 50,000 are left.
    expect(block.transactions.slice(2).map(({ hash }) => hash)).toEqual([first.hash, last.hash])
    expect(block.header.gasLimit).toBe(30_000_000n)
  })

  it('leaves out a transaction that runs too long, and does not try it again', async () => {
    const slow = new SlowTransactions()
    const endless = signTransaction(testKey(1), { to: ENDLESS, gasLimit: 29_000_000n })
    const pool = new SlowPool()
    pool.transactions.push(transfer(3), endless)
    const { start, clock } = scene(
      {
        added: (signal) => pool.added(signal),
        best() {
          const cursor = pool.best()
          const peek = () => {
            // By the next iteration of the event loop it has begun.
            if (cursor.peek() === endless) setImmediate(() => void clock.advance(100))
            return cursor.peek()
          }
          return { ...cursor, peek }
        },
      },
      {},
      slow,
    )
    const { block } = await (await start()).seal()
    expect(block.transactions.slice(1).map(({ from }) => from)).toEqual([testAddress(3)])

    const without = new SlowPool()
    without.transactions.push(transfer(3))
    const clean = await (await scene(without).start()).seal()
    expect(block.header.hash).toBe(clean.block.header.hash)

    pool.transactions.push(transfer(2))
    const next = await (await scene(pool, {}, slow).start()).seal()
    expect(next.block.transactions.slice(1).map(({ from }) => from)).toEqual([3, 2].map(testAddress))
  })

  it('fails at the start if a forced transaction is invalid', async () => {
    const bad = scene(undefined, { transactions: [transfer(1, 9).raw] })
    await expect(bad.start()).rejects.toMatchObject({
      code: 'build-failed',
      message: expect.stringMatching(/force-include tx: 0.*nonce too high/),
    })
    const garbled = scene(undefined, { transactions: [Uint8Array.of(2, 0xc0)] })
    await expect(garbled.start()).rejects.toMatchObject({
      code: 'build-failed',
      message: expect.stringContaining('transaction 0'),
    })
  })

  it('rejects seal() after a cancellation', async () => {
    const job = await scene(new SlowPool()).start()
    job.cancel()
    await expect(job.seal()).rejects.toMatchObject({ code: 'build-failed' })
  })

  it('rejects seal() with the failure of the pool', async () => {
    const pool = new SlowPool()
    pool.best = () => {
      throw new Error('pool is broken')
    }
    const job = await scene(pool).start()
    await new Promise((resolve) => setImmediate(resolve))
    await expect(job.seal()).rejects.toThrow('pool is broken')
  })

  it("needs a timestamp after its parent's", async () => {
    await expect(scene(undefined, { timestamp: 998 }).start()).rejects.toMatchObject({ code: 'invalid-attributes' })
  })
})
