import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { decodeSignedTransaction } from '../../rollup/protocol/index.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { FakePoolChain } from '../testUtils/fakePoolChain.ts'
import {
  signAuthorization,
  signSetCode,
  signTransaction,
  type TestTransaction,
  testAddress,
  testKey,
} from '../testUtils/signTransaction.ts'
import type { TxPoolOptions } from './options.ts'
import { TxPool } from './txPool.ts'

const GWEI = 10n ** 9n

let chain: FakePoolChain
let clock: ManualClock
let pool: TxPool

function createPool(options: Partial<TxPoolOptions> = {}): TxPool {
  pool = new TxPool({ chain, logger: silentLogger, clock }, options)
  pool.start()
  return pool
}

/** Signed by test key number `sender`. */
function tx(sender: number, fields: TestTransaction = {}): SignedTransaction {
  return signTransaction(testKey(sender), fields)
}

function walk(baseFee = GWEI): SignedTransaction[] {
  const cursor = pool.best(baseFee)
  const found: SignedTransaction[] = []
  for (let next = cursor.peek(); next !== undefined; next = cursor.peek()) {
    found.push(next)
    cursor.next()
  }
  return found
}

beforeEach(() => {
  chain = new FakePoolChain()
  clock = new ManualClock(1_700_000_000_000)
  for (let sender = 1; sender <= 5; sender++) chain.setAccount(testAddress(sender), {})
  createPool({ priceLimitWei: 1n, minBlockTipWei: 1_000_000n })
})

afterEach(() => pool.stop())

describe("the pool refuses with geth's messages", () => {
  const cases: {
    id: string
    fields?: TestTransaction
    prepare?: () => void | Promise<void>
    error: string | RegExp
  }[] = [
    {
      id: 'a used nonce',
      prepare: () => chain.setAccount(testAddress(1), { nonce: 3n }),
      fields: { nonce: 2 },
      error: 'nonce too low: next nonce 3, tx nonce 2',
    },
    {
      id: 'insufficient funds',
      prepare: () => chain.setAccount(testAddress(1), { balance: 5n }),
      fields: { maxFeePerGas: 1_000_000n, value: 1n },
      error: 'insufficient funds for gas * price + value: balance 5, tx cost 21000000001, overshot 20999999996',
    },
    {
      id: 'funds for everything except the L1 data fee',
      prepare: () => {
        chain.l1Fee = 7n
        chain.setAccount(testAddress(1), { balance: 21_000n * GWEI })
      },
      fields: { maxFeePerGas: GWEI },
      error: /^insufficient funds for gas \* price \+ value: .* overshot 7$/,
    },
    {
      id: 'insufficient funds after the waiting transactions',
      prepare: async () => {
        chain.setAccount(testAddress(1), { balance: 60_000n * GWEI })
        await pool.add(tx(1, { nonce: 0 }))
      },
      fields: { nonce: 1 },
      error: /^insufficient funds .* queued cost 42000000000000, tx cost 42000000000000, overshot 24000000000000$/,
    },
    {
      id: 'more gas than a block has beside the L1-info deposit',
      prepare: () => chain.setGasLimit(30_000_000n),
      fields: { gasLimit: 29_930_001n },
      error: 'exceeds block gas limit',
    },
    {
      id: 'more gas than the cap of Karst',
      prepare: () => {
        chain.karst = true
      },
      fields: { gasLimit: 16_777_217n, maxFeePerGas: 1_000_000n, maxPriorityFeePerGas: 1_000_000n },
      error: 'transaction gas limit too high: cap 16777216, tx 16777217',
    },
    {
      id: 'a tip above the fee cap',
      fields: { maxFeePerGas: 5n, maxPriorityFeePerGas: 6n },
      error: 'max priority fee per gas higher than max fee per gas',
    },
    { id: 'another chain', fields: { chainId: 1n }, error: /^invalid sender: .*have 1 want 901$/ },
    {
      id: 'too little gas',
      fields: { gasLimit: 20_999n },
      error: 'intrinsic gas too low: gas 20999, minimum needed 21000',
    },
    {
      id: 'too little gas for its data under Isthmus',
      prepare: () => {
        chain.isthmus = true
      },
      fields: { gasLimit: 24_999n, data: new Uint8Array(100).fill(1) },
      error: 'insufficient gas for floor data gas cost: gas 24999, minimum needed 25000',
    },
    {
      id: 'a tip below the minimum',
      fields: { maxPriorityFeePerGas: 0n },
      error: 'transaction gas price below minimum: gas tip cap 0, minimum needed 1',
    },
    {
      id: 'a transaction above the size limit',
      fields: { data: new Uint8Array(130_000 + 2000), gasLimit: 3_000_000n },
      error: /^oversized data: transaction size 1\d+, limit 131072$/,
    },
    {
      id: 'init code beyond the limit',
      fields: { to: null, data: new Uint8Array(49_153), gasLimit: 3_000_000n },
      error: 'max initcode size exceeded: code size 49153 limit 49152',
    },
    {
      id: 'an account with delegated code that skips a nonce',
      prepare: () => chain.setAccount(testAddress(1), { codeHash: `0x${'ab'.repeat(32)}` }),
      fields: { nonce: 1 },
      error: 'gapped-nonce tx from delegated accounts',
    },
  ]
  it.each(cases)('$id', async ({ fields, prepare, error }) => {
    await prepare?.()
    const known = pool.status()
    await expect(pool.add(tx(1, fields))).rejects.toThrow(error)
    expect(pool.status()).toEqual(known)
  })

  it('the same transaction twice', async () => {
    await pool.add(tx(1))
    await expect(pool.add(tx(1))).rejects.toThrow(errorWith('already-known'))
  })
})

describe('pending and queued', () => {
  it('a nonce gap holds back later nonces until it is filled', async () => {
    await pool.add(tx(1, { nonce: 2 }))
    await pool.add(tx(1, { nonce: 1 }))
    expect(pool.status()).toEqual({ pending: 0, queued: 2 })
    expect(pool.nextNonce(testAddress(1))).toBe(0)
    await pool.add(tx(1, { nonce: 0 }))
    expect(pool.status()).toEqual({ pending: 3, queued: 0 })
    expect(pool.nextNonce(testAddress(1))).toBe(3)
    expect(walk().map(({ nonce }) => nonce)).toEqual([0, 1, 2])
  })

  it('announces each transaction that becomes executable when a gap closes, and each replacement', async () => {
    const announced: [Hex, number][] = []
    pool.onAdded(({ from, nonce }) => announced.push([from, nonce]))
    for (const nonce of [2, 1, 3]) await pool.add(tx(1, { nonce }))
    expect(announced).toEqual([])
    await pool.add(tx(1))
    const [first, second, third] = [1, 2, 3].map(testAddress) as [Hex, Hex, Hex]
    expect(announced.splice(0)).toEqual([0, 1, 2, 3].map((nonce) => [first, nonce]))
    await pool.add(tx(1, { nonce: 1, maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 2_000_000n }))
    expect(announced.splice(0)).toEqual([[first, 1]])

    for (const sender of [2, 3]) for (const nonce of [1, 2]) await pool.add(tx(sender, { nonce }))
    const block = chain.block([])
    for (const sender of [2, 3]) chain.setAccount(testAddress(sender), { nonce: 1n })
    // Sees the new head before the pool's own update.
    const refused = pool.add(tx(2, { nonce: 1, value: 1n }))
    chain.move(block, [block])
    await expect(refused).rejects.toThrow(errorWith('replacement-underpriced'))
    await pool.add(tx(4))
    expect(announced).toEqual([
      ...[1, 2].map((nonce) => [second, nonce]),
      ...[1, 2].map((nonce) => [third, nonce]),
      [testAddress(4), 0],
    ])
  })

  it('limits the transactions of a sender behind a gap', async () => {
    createPool({ accountQueue: 2 })
    await pool.add(tx(1, { nonce: 5 }))
    await pool.add(tx(1, { nonce: 6 }))
    await expect(pool.add(tx(1, { nonce: 7 }))).rejects.toThrow(errorWith('account-limit'))
  })

  it('drops transactions that wait too long behind a gap, and keeps executable ones', async () => {
    await pool.add(tx(1, { nonce: 1 }))
    await pool.add(tx(2))
    await clock.advance(3 * 3_600_000 + 120_000)
    expect(pool.status()).toEqual({ pending: 1, queued: 0 })
  })
})

describe('accounts that pooled set-code transactions authorize', () => {
  const setCode = (sender: number, authority: number) => {
    const entry = signAuthorization(testKey(authority), { address: testAddress(9) })
    return decodeSignedTransaction(signSetCode(testKey(sender), [entry, entry]))
  }

  beforeEach(() => {
    chain.isthmus = true
    chain.setGasLimit(60_000_000n)
  })

  it('have one transaction, which they may replace, until the set-code transaction leaves', async () => {
    await pool.add(setCode(1, 2))
    await expect(pool.add(tx(2, { nonce: 1 }))).rejects.toThrow(errorWith('delegated-gap'))
    await pool.add(tx(2))
    await expect(pool.add(tx(2, { nonce: 1 }))).rejects.toThrow(errorWith('delegated-limit'))
    await pool.add(tx(2, { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 2_000_000n }))
    const block = chain.block([])
    chain.setAccount(testAddress(1), { nonce: 1n })
    chain.move(block, [block])
    await pool.add(tx(2, { nonce: 1 }))
    expect(pool.content(testAddress(2)).pending.map(({ nonce }) => nonce)).toEqual([0, 1])
  })

  it('have no more than one before, else the set-code transaction is refused', async () => {
    for (const nonce of [0, 1]) await pool.add(tx(2, { nonce }))
    await expect(pool.add(setCode(1, 2))).rejects.toThrow('authority already reserved')
    await pool.add(tx(3))
    await pool.add(setCode(1, 3))
    expect(pool.status()).toEqual({ pending: 4, queued: 0 })
  })
})

describe('replacement', () => {
  const first = { maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: GWEI }

  it.each([
    { id: 'only the tip is raised', maxFeePerGas: 2n * GWEI, maxPriorityFeePerGas: (GWEI * 11n) / 10n },
    { id: 'both fees are raised by too little', maxFeePerGas: 2n * GWEI + 1n, maxPriorityFeePerGas: GWEI + 1n },
    {
      id: 'both fees are raised by nine per cent',
      maxFeePerGas: (2n * GWEI * 109n) / 100n,
      maxPriorityFeePerGas: (GWEI * 109n) / 100n,
    },
  ])('is refused when $id', async ({ id: _, ...fees }) => {
    await pool.add(tx(1, first))
    await expect(pool.add(tx(1, { ...fees, value: 1n }))).rejects.toThrow(errorWith('replacement-underpriced'))
  })

  it('is accepted below the base fee at most 16 times', async () => {
    chain.baseFee = 10n * GWEI
    const offer = (step: number) =>
      tx(1, { maxFeePerGas: 2n * 2n ** BigInt(step), maxPriorityFeePerGas: 2n ** BigInt(step) })
    for (let step = 0; step <= 16; step++) await pool.add(offer(step))
    await expect(pool.add(offer(17))).rejects.toThrow(errorWith('replacement-underpriced', 16))
    // The base fee falls below its fee cap: from now on, the replaced transaction could have cost its sender.
    chain.baseFee = 2n ** 17n
    for (let step = 17; step <= 20; step++) await pool.add(offer(step))
    expect(pool.status().pending).toBe(1)
  })

  it('is accepted if both fees are ten per cent higher', async () => {
    await pool.add(tx(1, first))
    const next = tx(1, { maxFeePerGas: (2n * GWEI * 11n) / 10n, maxPriorityFeePerGas: (GWEI * 11n) / 10n })
    await pool.add(next)
    expect(walk()).toEqual([next])
    expect(pool.get(tx(1, first).hash)).toBeUndefined()
  })
})

describe('order for the block builder', () => {
  it('sorts by effective tip, then by arrival, with nonces in order', async () => {
    await pool.add(tx(1, { maxPriorityFeePerGas: GWEI / 2n }))
    await pool.add(tx(1, { nonce: 1, maxPriorityFeePerGas: GWEI }))
    await pool.add(tx(2, { maxPriorityFeePerGas: (GWEI * 3n) / 4n }))
    await pool.add(tx(3, { maxPriorityFeePerGas: GWEI / 2n }))
    const order = walk().map(({ from, nonce }) => `${[1, 2, 3].find((n) => testAddress(n) === from)}:${nonce}`)
    expect(order).toEqual(['2:0', '1:0', '1:1', '3:0'])
  })

  it('limits the tip by the fee cap, and omits a sender below the base fee', async () => {
    await pool.add(tx(1, { maxFeePerGas: GWEI + 2_000_000n, maxPriorityFeePerGas: GWEI }))
    await pool.add(tx(2, { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 3_000_000n }))
    expect(walk().map(({ from }) => from)).toEqual([testAddress(2), testAddress(1)])
    expect(walk(GWEI + 2_000_001n).map(({ from }) => from)).toEqual([testAddress(2)])
  })

  it('omits a tip below the minimum for blocks', async () => {
    await pool.add(tx(1, { maxPriorityFeePerGas: 999_999n }))
    expect(walk()).toEqual([])
    expect(pool.status().pending).toBe(1)
  })

  it('includes a transaction without a tip if there is no minimum', async () => {
    createPool({ priceLimitWei: 0n })
    await pool.add(tx(1, { maxPriorityFeePerGas: 0n }))
    expect(walk()).toHaveLength(1)
  })

  it('skipSender keeps the other senders', async () => {
    await pool.add(tx(1, { maxPriorityFeePerGas: GWEI }))
    await pool.add(tx(1, { nonce: 1, maxPriorityFeePerGas: GWEI }))
    await pool.add(tx(2))
    const cursor = pool.best(GWEI)
    cursor.skipSender()
    expect(cursor.peek()?.from).toBe(testAddress(2))
    cursor.next()
    expect(cursor.peek()).toBeUndefined()
  })

  it('never rises in tip between senders, for random transactions', async () => {
    const tips = fc.array(fc.bigInt({ min: 1_000_000n, max: GWEI }), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(fc.array(tips, { minLength: 1, maxLength: 5 }), async (senders) => {
        createPool()
        let count = 0
        for (const [index, list] of senders.entries()) {
          for (const [nonce, maxPriorityFeePerGas] of list.entries()) {
            await pool.add(tx(index + 1, { nonce, maxPriorityFeePerGas }))
            count++
          }
        }
        const walked = walk()
        expect(walked.length).toBe(count)
        const heads = new Map(senders.map((list, index) => [testAddress(index + 1), [...list]]))
        for (const { from, maxPriorityFeePerGas } of walked) {
          const best = [...heads.values()].reduce((most, [tip = 0n]) => (tip > most ? tip : most), 0n)
          expect(maxPriorityFeePerGas).toBe(best)
          expect(heads.get(from)?.shift()).toBe(maxPriorityFeePerGas)
        }
      }),
      { numRuns: propertyRuns(15) },
    )
  })

  it('notifies the builder of new transactions', async () => {
    const controller = new AbortController()
    const added = pool.added(controller.signal)
    await pool.add(tx(1, { nonce: 1 }))
    let woken = false
    void added.then(() => {
      woken = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect(woken).toBe(false)
    await pool.add(tx(1))
    await added
    const aborted = pool.added(controller.signal)
    controller.abort(new Error('sealed'))
    await expect(aborted).rejects.toThrow('sealed')
  })
})

describe('a full pool', () => {
  beforeEach(() => createPool({ globalSlots: 2, globalQueue: 1 }))

  it('evicts the cheapest transaction for a better paying one', async () => {
    await pool.add(tx(1, { maxPriorityFeePerGas: 3_000_000n }))
    await pool.add(tx(2, { maxPriorityFeePerGas: 2_000_000n }))
    await expect(pool.add(tx(3, { maxPriorityFeePerGas: 2_000_000n }))).rejects.toThrow(errorWith('underpriced'))
    await pool.add(tx(3, { maxPriorityFeePerGas: 4_000_000n }))
    expect(walk().map(({ from }) => from)).toEqual([testAddress(3), testAddress(1)])
  })

  it('does not evict executable transactions for transactions behind a gap', async () => {
    await pool.add(tx(1))
    await pool.add(tx(2))
    await pool.add(tx(3, { nonce: 4 }))
    await expect(pool.add(tx(4, { nonce: 9 }))).rejects.toThrow(errorWith('pool-full'))
    expect(pool.status()).toEqual({ pending: 2, queued: 1 })
  })

  it('counts a large transaction as several slots', async () => {
    const large = { data: new Uint8Array(40_000), gasLimit: 2_000_000n }
    await pool.add(tx(1, large))
    await expect(pool.add(tx(2))).rejects.toThrow(errorWith('underpriced'))
  })

  it('counts the additional slots of a larger replacement', async () => {
    createPool({ globalSlots: 4 })
    const large = { data: new Uint8Array(100_000), gasLimit: 5_000_000n }
    for (const sender of [1, 2, 3, 4]) await pool.add(tx(sender))
    const dearer = { maxFeePerGas: 3n * GWEI, maxPriorityFeePerGas: 1_100_000n }
    // Cheaper transactions of others are evicted for its additional slots. If that is not enough, it is refused.
    await pool.add(tx(1, dearer))
    expect(pool.status()).toEqual({ pending: 4, queued: 0 })
    await pool.add(tx(1, { ...large, maxFeePerGas: 4n * GWEI, maxPriorityFeePerGas: 2_000_000n }))
    expect(pool.status()).toEqual({ pending: 1, queued: 0 })
    await expect(pool.add(tx(2))).rejects.toThrow(errorWith('underpriced'))
  })
})

describe('a new head', () => {
  it('removes mined transactions and keeps the others', async () => {
    const mined = tx(1)
    await pool.add(mined)
    await pool.add(tx(1, { nonce: 1 }))
    const block = chain.block([mined])
    chain.setAccount(testAddress(1), { nonce: 1n })
    chain.move(block, [block])
    await pool.add(tx(2))
    expect(pool.content(testAddress(1)).pending.map(({ nonce }) => nonce)).toEqual([1])
    expect(pool.get(mined.hash)).toBeUndefined()
  })

  it('makes a transaction executable whose nonce is next', async () => {
    await pool.add(tx(1, { nonce: 1 }))
    const woken = pool.added(new AbortController().signal)
    const block = chain.block([])
    chain.setAccount(testAddress(1), { nonce: 1n })
    chain.move(block, [block])
    await woken
    expect(pool.status()).toEqual({ pending: 1, queued: 0 })
  })

  it('drops a transaction that its sender can no longer pay, and its later nonces wait', async () => {
    await pool.add(tx(1, { value: 10n ** 17n }))
    await pool.add(tx(1, { nonce: 1 }))
    const block = chain.block([])
    chain.setAccount(testAddress(1), { balance: 10n ** 16n })
    chain.move(block, [block])
    await pool.add(tx(2))
    expect(pool.content(testAddress(1))).toMatchObject({ pending: [], queued: [{ nonce: 1 }] })
  })

  it('takes back transactions of a reorged block, except those in the new branch', async () => {
    const [lost, kept] = [tx(1), tx(2)]
    await pool.add(lost)
    await pool.add(kept)
    const old = chain.block([lost, kept])
    for (const sender of [1, 2]) chain.setAccount(testAddress(sender), { nonce: 1n })
    chain.move(old, [old])
    await pool.add(tx(3))
    expect(pool.status().pending).toBe(1)

    const other = chain.block([kept], 1)
    chain.setAccount(testAddress(1), { nonce: 0n })
    chain.move(other, [other], [old])
    await pool.add(tx(4))
    expect(pool.content(testAddress(1)).pending).toEqual([lost])
    expect(pool.content(testAddress(2)).pending).toEqual([])
  })

  it('takes back no transactions if more than 64 blocks were removed', async () => {
    const lost = tx(1)
    const old = [chain.block([lost]), ...Array.from({ length: 64 }, () => chain.block([]))]
    const other = chain.block([])
    chain.move(other, [other], old)
    await pool.add(tx(2))
    expect(pool.get(lost.hash)).toBeUndefined()
    chain.move(other, [other], old.slice(0, 64))
    await pool.add(tx(3))
    expect(pool.get(lost.hash)).toEqual(lost)
  })

  it('yields to the event loop between the blocks and transactions of a reorg', async () => {
    let turn = 0
    let counter = setImmediate(function count() {
      turn += 1
      counter = setImmediate(count)
    })
    const turns: number[] = []
    const work = () => {
      turns.push(turn)
      // Longer than one stretch of work may be.
      const end = performance.now() + 10
      while (performance.now() < end);
    }
    const { blockByHash } = chain
    chain.blockByHash = (hash) => {
      work()
      return blockByHash(hash)
    }
    pool.onTaken(work)
    const old = [chain.block([tx(1), tx(2)]), chain.block([tx(3)])]
    chain.move(chain.head(), [], old)
    await pool.stop()
    clearImmediate(counter)
    // Two blocks, three transactions.
    expect(turns).toHaveLength(5)
    expect(new Set(turns).size).toBe(5)
  })

  it('accepts a transaction checked against the new head before the pool is notified', async () => {
    const mined = tx(1)
    await pool.add(mined)
    const adding = pool.add(tx(1, { nonce: 1 }))
    const block = chain.block([mined])
    chain.setAccount(testAddress(1), { nonce: 1n })
    chain.move(block, [block])
    await adding
    expect(walk().map(({ nonce }) => nonce)).toEqual([1])
    expect(pool.get(mined.hash)).toBeUndefined()
  })
})
