import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { ManualClock } from '../../lib/clock.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { FEES, hashOf, S, startSend } from '../testUtils/steppedSend.ts'
import type { BlobSidecar } from './sidecar.ts'

// Tests over a real L1 are in `txManager.test.ts`, `txManagerBlobs.test.ts` and `unmineable.test.ts`. Here the clock is
// stepped, and the L1 answers as the test says.

describe('a transaction that the L1 accepts', () => {
  it('is sent again unchanged at each rebroadcast, and with higher fees at each resubmission timeout', async () => {
    const { loop, sent, kinds, pass, metric } = startSend()
    await pass(97)
    expect(kinds).toEqual(['calldata', 'calldata'])
    expect(sent).toEqual([0, 12, 24, 36, 48, 60, 72, 84, 96].map((at) => [at, at < 48 ? 1 : at < 96 ? 2 : 3]))
    expect(loop.status).toMatchObject({ nonce: 7, bumps: 2, tipWei: 1_210_000_000n, hash: hashOf(3) })
    expect(loop.hashes).toEqual([1, 2, 3].map(hashOf))
    expect(await metric('tx_gas_bump')).toBe(2)
    expect(await metric('publish_total')).toBe(9)
    expect(loop.leftBehind).toMatchObject({ fees: { tip: 1_210_000_000n } })
  })

  it('counts the L1 blocks without its newest version', async () => {
    const { loop, l1, pass } = startSend({ rebroadcastIntervalMs: 4 * S, receiptQueryIntervalMs: S })
    await pass(1)
    expect(loop.status.missedBlocks).toBe(0)
    l1.head = 8
    await pass(1)
    expect(loop.status.missedBlocks).toBe(3)
    await pass(47)
    expect(loop.status).toMatchObject({ bumps: 1, missedBlocks: 0 })
  })

  it('ends with the receipt of any version that has enough confirmations', async () => {
    const { loop, outcome, l1, sent, pass, metric } = startSend({ numConfirmations: 3, receiptQueryIntervalMs: S })
    await pass(50)
    l1.mined = { version: 1, block: 6 }
    l1.head = 7
    await pass(20)
    expect(loop.status).toMatchObject({ minedIn: 6, problem: undefined })
    expect(loop.leftBehind).toBeUndefined()
    const count = sent.length
    l1.head = 8
    await pass(1)
    expect(await outcome).toMatchObject({ blockNumber: 6, transactionHash: hashOf(1) })
    expect(sent).toHaveLength(count)
    expect(await metric('tx_confirmed_latency_ms')).toBe(71 * S)
  })

  it('is sent again at once when a reorg takes it away', async () => {
    const { loop, l1, sent, pass } = startSend({ numConfirmations: 3, receiptQueryIntervalMs: S })
    l1.mined = { version: 1, block: 5 }
    await pass(3)
    l1.mined = undefined
    await pass(2)
    expect(sent.map(([at]) => at)).toEqual([0, 4])
    expect(loop.status.minedIn).toBeUndefined()
  })

  it('is awaited although receipts cannot be read', async () => {
    const { outcome, l1, pass, metric } = startSend({ receiptQueryIntervalMs: S })
    l1.receiptFault = new Error('connection lost')
    await pass(3)
    expect(await metric('rpc_error_count')).toBeGreaterThanOrEqual(3)
    l1.receiptFault = undefined
    l1.mined = { version: 1, block: 5 }
    await pass(1)
    expect(await outcome).toMatchObject({ blockNumber: 5 })
  })

  it('is awaited although its nonce is used and receipts cannot be read', async () => {
    const { outcome, l1, pass } = startSend()
    await pass(1)
    l1.receiptFault = new Error('too many requests')
    l1.mined = { version: 1, block: 5 }
    l1.nonces.latest = 8
    await pass(60)
    l1.receiptFault = undefined
    await pass(12)
    expect(await outcome).toMatchObject({ blockNumber: 5 })
  })

  it('is replaced within one resubmission timeout after the clock was set back', async () => {
    const { loop, pass } = startSend()
    await pass(1)
    const { now } = ManualClock.prototype
    const setBack = vi.spyOn(ManualClock.prototype, 'now').mockImplementation(function (this: ManualClock) {
      return now.call(this) - 3_600 * S
    })
    onTestFinished(() => setBack.mockRestore())
    await pass(60)
    expect(loop.status.bumps).toBe(1)
  })

  it('ends with the reason of the signal', async () => {
    const { outcome, stop, pass } = startSend()
    await pass(1)
    stop.abort(new Error('closing'))
    await expect(outcome).rejects.toThrow('closing')
  })
})

describe('a transaction that the L1 refuses', () => {
  it('is sent again after growing pauses, until it has been out of the pool for too long', async () => {
    const { loop, outcome, l1, sent, pass } = startSend({ resubmissionTimeoutMs: 600 * S })
    l1.refusal = new Error('connection lost')
    await pass(70)
    expect(sent.map(([at]) => at)).toEqual([0, 1, 3, 7, 15, 27, 39, 51, 63])
    expect(loop.status).toMatchObject({ problem: 'connection lost', missedBlocks: undefined })
    await pass(49)
    expect(loop.leftBehind).toMatchObject({ nonce: 7 })
    await pass(12)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'mempool'))
  })

  it.each([
    { id: 'no longer holds it', pending: 7, ends: true },
    { id: 'holds it', pending: 8, ends: false },
  ])("is given up only if the pool's next nonce says that the pool $id", async ({ pending, ends }) => {
    const { loop, outcome, l1, pass } = startSend({ resubmissionTimeoutMs: 600 * S })
    await pass(1)
    l1.refusal = new JsonRpcError(-32000, 'a rule that nobody knows yet')
    l1.nonces.pending = pending
    await pass(130)
    expect(loop.status.problem).toBe('a rule that nobody knows yet')
    expect(loop.leftBehind).toBeDefined()
    let hasEnded = false
    outcome.catch(() => {
      hasEnded = true
    })
    await pass(100)
    expect(hasEnded).toBe(ends)
    if (ends) await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'mempool'))
  })

  it('is given up after three looks at a nonce that is used, whatever the L1 answers', async () => {
    const { outcome, l1, sent, pass } = startSend()
    await pass(1)
    l1.nonces.latest = 8
    await pass(34)
    expect(sent).toHaveLength(1)
    await pass(1)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
  })

  it.each([
    ['already known', 'already imported'],
    ['known by a text of the operator', 'ErrDuplicate'],
  ])('counts as accepted if it is %s', async (_what, text) => {
    const { loop, l1, sent, pass } = startSend({ alreadyPublishedErrors: ['errduplicate'] })
    l1.refusal = new JsonRpcError(-32000, text)
    await pass(25)
    expect(sent.map(([at]) => at)).toEqual([0, 12, 24])
    expect(loop.status).toMatchObject({ problem: undefined, missedBlocks: 0 })
  })

  it('stays as it is if it cannot be replaced', async () => {
    const { loop, l1, sent, pass, metric } = startSend()
    l1.refusal = new JsonRpcError(-32000, 'transaction underpriced')
    l1.feesFault = new Error('busy')
    await pass(0)
    expect(sent).toEqual([[0, 1]])
    expect(loop.status).toMatchObject({ bumps: 0, problem: 'its fees cannot be raised: busy' })
    expect(loop.leftBehind).toBeUndefined()
    expect(await metric('tx_publish_error_count{error="bump_failed"}')).toBe(1)
  })

  it('is kept while the L1 does not answer', async () => {
    const { loop, outcome, l1, pass } = startSend({ resubmissionTimeoutMs: 900 * S })
    await pass(1)
    l1.refusal = new Error('connection lost')
    l1.nonces.pending = 7
    await pass(200)
    expect(loop.status.problem).toBe('connection lost')
    l1.mined = { version: 1, block: 5 }
    await pass(12)
    expect(await outcome).toMatchObject({ blockNumber: 5 })
  })

  it('is given up at once if another transaction has its nonce', async () => {
    const { loop, outcome, l1, sent, pass, metric } = startSend()
    expect(loop.lostItsNonce).toBe(false)
    l1.refusal = new JsonRpcError(-32000, 'nonce too low')
    await pass(1)
    expect(await metric('tx_publish_error_count{error="nonce_too_low"}')).toBe(1)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
    expect(sent).toHaveLength(1)
    expect(loop.lostItsNonce).toBe(true)
  })

  it('is given up after three such answers if the L1 had accepted it', async () => {
    const { outcome, l1, sent, pass } = startSend()
    await pass(1)
    l1.refusal = new JsonRpcError(-32000, 'nonce too low')
    await pass(34)
    expect(sent).toHaveLength(3)
    await pass(1)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
    expect(sent).toHaveLength(4)
  })

  it('forgets such answers once a version is mined', async () => {
    const { loop, l1, pass } = startSend({ numConfirmations: 9, receiptQueryIntervalMs: S })
    await pass(1)
    l1.refusal = new JsonRpcError(-32000, 'nonce too low')
    await pass(24)
    expect(loop.lostItsNonce).toBe(true)
    l1.mined = { version: 1, block: 5 }
    await pass(30)
    expect(loop.lostItsNonce).toBe(false)
  })

  it('is given up after more than `maxRetries` answers that its nonce is too high', async () => {
    const { outcome, l1, sent, pass } = startSend({ maxRetries: 2 })
    l1.refusal = new JsonRpcError(-32000, 'nonce too high')
    await pass(2)
    expect(sent).toHaveLength(2)
    await pass(2)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce too high'))
    expect(sent).toHaveLength(3)
  })

  it('is kept if the L1 accepts it between answers that its nonce is too high', async () => {
    const { l1, sent, pass } = startSend({ maxRetries: 1, resubmissionTimeoutMs: 600 * S })
    await pass(1)
    for (const text of ['nonce too high', undefined, 'nonce too high', undefined]) {
      l1.refusal = text === undefined ? undefined : new JsonRpcError(-32000, text)
      await pass(12)
    }
    expect(sent).toHaveLength(5)
  })

  it('is given up if the pool holds transactions of the other kind', async () => {
    const { loop, outcome, l1, pass } = startSend()
    expect(loop.isRefusedForKind).toBe(false)
    l1.refusal = new Error('connection lost')
    await pass(0)
    l1.refusal = new JsonRpcError(-32000, 'address already reserved')
    await pass(1)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'address already reserved'))
    expect(loop.isRefusedForKind).toBe(true)
    expect(loop.leftBehind).toBeUndefined()
  })

  it.each(['replacement transaction underpriced', 'transaction underpriced'])(
    'is replaced at once, once for each publication: %s',
    async (text) => {
      const { l1, sent, pass } = startSend()
      l1.refusal = new JsonRpcError(-32000, text)
      await pass(1)
      expect(sent).toEqual([
        [0, 1],
        [0, 2],
        [1, 2],
        [1, 3],
      ])
    },
  )
})

describe('a transaction that the L1 cannot mine', () => {
  it('is replaced at once with the gas that the L1 requires, once for each publication', async () => {
    const { loop, l1, sent, pass } = startSend()
    l1.refusal = new JsonRpcError(-32000, 'a rule that nobody knows yet')
    l1.gas = 30_000n
    await pass(0)
    expect(sent).toEqual([
      [0, 1],
      [0, 2],
    ])
    expect(loop.status.problem).toBe('a rule that nobody knows yet')
    await pass(1)
    expect(sent.slice(2)).toEqual([[1, 2]])
  })

  it("waits for the resubmission timeout if only the price is too high, and then passes the operator's limit", async () => {
    const { loop, l1, sent, pass } = startSend({ feeLimitMultiplier: 1n, feeLimitThresholdWei: 1n })
    await pass(1)
    l1.fees = { ...FEES, baseFee: 5_000_000_000n }
    await pass(46)
    expect(sent.map(([, version]) => version)).toEqual([1, 1, 1, 1])
    expect(loop.status.problem).toMatch(/base fee of 5 gwei.*3 gwei/)
    await pass(1)
    expect(sent.at(-1)).toEqual([48, 2])
    expect(loop.status).toMatchObject({ problem: undefined, feeCapWei: 11_100_000_000n })
  })

  it("is not raised above the operator's limit while the L1 can mine it", async () => {
    const { loop, sent, pass } = startSend({ feeLimitMultiplier: 1n, feeLimitThresholdWei: 1n })
    await pass(49)
    expect(sent.map(([, version]) => version)).toEqual([1, 1, 1, 1, 1])
    expect(loop.status.bumps).toBe(0)
  })
})

describe('a gap below the nonce', () => {
  it.each([
    { id: 'both answers name it', missing: [5, 5], ends: true },
    { id: 'the second answer has none', missing: [5, undefined], ends: false },
    { id: 'the second answer names another', missing: [5, 6], ends: false },
  ])('ends the send only if $id', async ({ missing, ends }) => {
    const { outcome, l1, sent, pass } = startSend()
    await pass(1)
    l1.missing = missing
    await pass(14)
    if (ends) await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce gap'))
    expect(sent).toHaveLength(ends ? 1 : 2)
  })
})

describe('a blob transaction', () => {
  const SIDECAR: BlobSidecar = { version: 0, blobs: [], commitments: [], proofs: [], versionedHashes: [] }

  it('is not sent while its proofs cannot be computed, and is sent after that', async () => {
    const { loop, l1, sent, pass } = startSend({}, SIDECAR)
    l1.prove = () => Promise.reject(new Error('no memory'))
    await pass(1)
    expect(sent).toEqual([])
    expect(loop.status.problem).toMatch(/blob proofs cannot be computed: no memory/)
    l1.prove = async (given) => given
    await pass(2)
    expect(sent).toEqual([[3, 1]])
    expect(loop.status.problem).toBeUndefined()
  })

  it('doubles its fees at the resubmission timeout', async () => {
    const { loop, kinds, pass } = startSend({}, SIDECAR)
    await pass(49)
    expect(kinds).toEqual(['blobs'])
    expect(loop.status).toMatchObject({ blobs: 1, bumps: 1, tipWei: 2_000_000_000n, blobFeeCapWei: 2n })
  })
})
