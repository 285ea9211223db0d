import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { loopTurns } from '../../lib/nextTurn.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import { decodeBlob } from '../../rollup/protocol/index.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import { TEST_TX_OPTIONS } from '../testUtils/submitterSetup.ts'
import type { FeeCaps, TxKind } from './fees.ts'
import { PoolCleaner } from './poolCleaner.ts'
import type { L1Tx } from './transaction.ts'
import type { CraftedTx } from './types.ts'

// `txManagerBlobs.test.ts` has the same over a real L1.

const ADDRESS: Hex = `0x${'22'.repeat(20)}`
const FEES = { tip: 10n, baseFee: 100n, blobBaseFee: 1n, minBlobFeeCap: 5n }
const known = (nonce: number, fees: FeeCaps): [number, L1Tx] => [
  nonce,
  { chainId: 900n, nonce, fees, gasLimit: 50_000n, to: `0x${'11'.repeat(20)}`, data: Uint8Array.of(1) },
]

function setUp() {
  const clock = new ManualClock(1_000_000)
  const log = createLogRecorder()
  const stop = new AbortController()
  const l1 = {
    latest: 4,
    pending: 4,
    inPool: new Map<number, FeeCaps>(),
    fault: undefined as Error | undefined,
    /** By nonce. */
    signerFaults: new Map<number, Error>(),
  }
  const sent: CraftedTx[] = []
  const ended: number[] = []
  const suggested: TxKind[] = []
  const blobs: Uint8Array[] = []
  const cleaner = new PoolCleaner(
    {
      l1: {
        async nonceAt(_address, block) {
          if (l1.fault !== undefined) throw l1.fault
          return block === 'latest' ? l1.latest : l1.pending
        },
        pendingTx: async (_address, nonce) => l1.inPool.get(nonce),
      },
      signer: {
        address: ADDRESS,
        async signTransaction({ nonce }) {
          const fault = l1.signerFaults.get(nonce)
          if (fault !== undefined) throw fault
          return { hash: `0x${'00'.repeat(32)}`, raw: new Uint8Array() }
        },
      },
      clock,
      logger: log.logger,
      chainId: 900n,
      async suggestFees(kind) {
        suggested.push(kind)
        return FEES
      },
      async createSidecar(given) {
        blobs.push(...given)
        return { version: 1, blobs: given, commitments: [], proofs: [], versionedHashes: [`0x${'01'.repeat(32)}`] }
      },
      createLoop: (crafted) => ({
        run(signal) {
          sent.push(crafted)
          return untilAborted(new Promise<never>(() => {}), signal)
        },
      }),
      ended: (nonce) => ended.push(nonce),
    },
    { ...TEST_TX_OPTIONS, receiptQueryIntervalMs: 12_000, retryIntervalMs: 500 },
  )
  return {
    cleaner,
    l1,
    log,
    stop,
    sent,
    ended,
    suggested,
    blobs,
    async pass(ms: number) {
      await loopTurns(10)
      await clock.advance(ms)
      await loopTurns(10)
    },
  }
}

describe('PoolCleaner', () => {
  it('replaces each transaction above the latest nonce by an empty one to the account itself', async () => {
    const { cleaner, l1, stop, sent, ended, suggested, pass } = setUp()
    l1.pending = 6
    l1.inPool.set(5, { tip: 100n, feeCap: 1_000n })
    const cleaning = cleaner.clean(new Map(), 'calldata', stop.signal)
    await pass(1_000)
    const common = { chainId: 900n, gasLimit: 21_000n, to: ADDRESS, data: new Uint8Array(), blobHashes: undefined }
    expect(sent.map(({ tx }) => tx)).toEqual([
      { ...common, nonce: 4, fees: { tip: 10n, feeCap: 210n } },
      { ...common, nonce: 5, fees: { tip: 110n, feeCap: 1_100n } },
    ])
    expect(suggested).toEqual(['calldata', 'calldata'])
    expect(cleaner.status).toEqual({ nonces: [4, 5], startedAtMs: 1_000_000, problem: undefined })
    l1.latest = 5
    await pass(1_000)
    expect(cleaner.status.nonces).toEqual([5])
    expect(ended).toEqual([4])
    l1.latest = 6
    await pass(1_000)
    await cleaning
    expect(ended).toEqual([4, 5])
    expect(sent).toHaveLength(2)
  })

  it('keeps the kind: of its own transactions, of those in the pool, else the given one', async () => {
    const { cleaner, l1, stop, sent, suggested, blobs, pass } = setUp()
    l1.pending = 6
    l1.inPool.set(5, { tip: 100n, feeCap: 1_000n, blobFeeCap: 7n })
    // The pool no longer counts the last one.
    const own = new Map([known(6, { tip: 100n, feeCap: 1_000n })])
    const cleaning = cleaner.clean(own, 'blobs', stop.signal)
    await pass(0)
    expect(sent.map(({ tx }) => [tx.nonce, tx.fees, tx.blobHashes?.length])).toEqual(
      expect.arrayContaining([
        [4, { tip: 10n, feeCap: 210n, blobFeeCap: 5n }, 1],
        [5, { tip: 200n, feeCap: 2_000n, blobFeeCap: 14n }, 1],
        [6, { tip: 110n, feeCap: 1_100n }, undefined],
      ]),
    )
    expect(suggested.sort()).toEqual(['blobs', 'blobs', 'calldata'])
    expect(sent.map(({ sidecar }) => sidecar?.blobs.length)).toEqual(expect.arrayContaining([1, 1, undefined]))
    expect(blobs.map((blob) => [...decodeBlob(blob)])).toEqual([[0], [0]])
    l1.latest = 7
    await pass(1_000)
    await cleaning
  })

  it('replaces at most 64 at once, whatever nonce the L1 names', async () => {
    const { cleaner, l1, stop, sent, pass } = setUp()
    l1.pending = 1_000_000_000
    const cleaning = cleaner.clean(new Map(), 'calldata', stop.signal)
    await pass(1_000)
    expect(sent.map(({ tx }) => tx.nonce)).toEqual(Array.from({ length: 64 }, (_, index) => 4 + index))
    l1.latest = 5
    await pass(1_000)
    expect(sent.map(({ tx }) => tx.nonce).slice(64)).toEqual([68])
    l1.pending = 5
    await pass(1_000)
    await cleaning
  })

  it('does nothing if the pool holds nothing', async () => {
    const { cleaner, stop, sent } = setUp()
    await cleaner.clean(new Map([known(3, { tip: 1n, feeCap: 1n })]), 'calldata', stop.signal)
    expect(sent).toEqual([])
  })

  it('retries with the reason while the L1 or the signer fails', async () => {
    const { cleaner, l1, log, stop, sent, pass } = setUp()
    l1.pending = 5
    l1.fault = new Error('no answer')
    const cleaning = cleaner.clean(new Map(), 'calldata', stop.signal)
    await pass(0)
    expect(cleaner.status.problem).toBe('no answer')
    expect(log.of("Failed to read the account's pending nonce from the L1")).toHaveLength(1)
    l1.fault = undefined
    l1.signerFaults.set(4, new Error('locked'))
    await pass(500)
    expect(cleaner.status).toMatchObject({ nonces: [4], problem: 'locked' })
    expect(sent).toEqual([])
    l1.signerFaults.clear()
    await pass(500)
    expect(sent).toHaveLength(1)
    expect(cleaner.status.problem).toBeUndefined()
    l1.latest = 5
    await pass(1_000)
    await cleaning
  })

  it('no longer tries to replace a transaction that was mined meanwhile', async () => {
    const { cleaner, l1, stop, sent, pass } = setUp()
    l1.pending = 6
    l1.signerFaults.set(4, new Error('locked'))
    const cleaning = cleaner.clean(new Map(), 'calldata', stop.signal)
    await pass(0)
    expect(cleaner.status).toMatchObject({ nonces: [4, 5], problem: 'locked' })
    l1.latest = 5
    await pass(1_000)
    expect(cleaner.status).toMatchObject({ nonces: [5], problem: undefined })
    l1.signerFaults.clear()
    await pass(1_000)
    expect(sent.map(({ tx }) => tx.nonce)).toEqual([5])
    // A reorg of the L1 takes it away again.
    l1.latest = 4
    await pass(1_000)
    expect(sent.map(({ tx }) => tx.nonce)).toEqual([5, 4])
    l1.latest = 6
    await pass(1_000)
    await cleaning
  })

  it('ends with the reason of the signal, and ends its sends', async () => {
    const { cleaner, l1, stop, ended, pass } = setUp()
    l1.pending = 5
    const cleaning = cleaner.clean(new Map(), 'calldata', stop.signal)
    await pass(0)
    stop.abort(new Error('closing'))
    await expect(cleaning).rejects.toThrow('closing')
    expect(ended).toEqual([4])
  })
})
