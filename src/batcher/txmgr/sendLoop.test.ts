import { Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { ManualClock, sleep } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { loopTurns, nextTurn } from '../../lib/nextTurn.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import type { TxReceipt } from '../l1/submitterL1.ts'
import { createLogRecorder } from '../testUtils/logRecorder.ts'
import { TEST_TX_OPTIONS } from '../testUtils/submitterSetup.ts'
import { createTxManagerMetrics } from './metrics.ts'
import type { TxManagerOptions } from './options.ts'
import { SendLoop, type SendLoopModules } from './sendLoop.ts'
import type { BlobSidecar } from './sidecar.ts'
import type { L1Tx } from './transaction.ts'

// Tests over a real L1 are in `txManager.test.ts`, `txManagerBlobs.test.ts` and `unmineable.test.ts`. Here the clock is
// stepped, and the L1 answers as the test says.

const S = 1_000
const START_MS = 1_000_000 * S
const OPTIONS: TxManagerOptions = {
  ...TEST_TX_OPTIONS,
  resubmissionTimeoutMs: 48 * S,
  rebroadcastIntervalMs: 12 * S,
  receiptQueryIntervalMs: 12 * S,
  notInMempoolTimeoutMs: 120 * S,
  retryIntervalMs: S,
  numConfirmations: 1,
  safeAbortNonceTooLowCount: 3,
  maxRetries: 2,
}
const FEES = { tip: 1_000_000_000n, baseFee: 1_000_000_000n }
const TX: L1Tx = {
  chainId: 900n,
  nonce: 7,
  fees: { tip: 1_000_000_000n, feeCap: 3_000_000_000n },
  gasLimit: 21_000n,
  to: `0x${'11'.repeat(20)}`,
  data: new Uint8Array(0),
}
const hashOf = (version: number): Hex => `0x${version.toString(16).padStart(64, '0')}`

function setUp(options: Partial<TxManagerOptions> = {}, sidecar?: BlobSidecar) {
  const clock = new ManualClock(START_MS)
  const log = createLogRecorder()
  const registry = new Registry()
  const stop = new AbortController()
  /** Seconds since the start and version of each publication. */
  const sent: [number, number][] = []
  const l1 = {
    head: 5,
    nonces: { latest: 7, pending: 8 },
    /** Version and L1 block. */
    mined: undefined as { version: number; block: number } | undefined,
    refusal: undefined as Error | undefined,
    receiptFault: undefined as Error | undefined,
    missing: [] as (number | undefined)[],
    fees: FEES,
    gas: 21_000n,
    prove: async (given: BlobSidecar) => given,
  }
  let versions = 1
  const modules: SendLoopModules = {
    l1: {
      async sendRawTransaction(raw) {
        sent.push([(clock.now() - START_MS) / S, raw[0] ?? 0])
        if (l1.refusal !== undefined) throw l1.refusal
      },
      async receipts(hashes) {
        if (l1.receiptFault !== undefined) throw l1.receiptFault
        const { mined } = l1
        const receiptOf = (hash: Hex): TxReceipt | undefined =>
          mined === undefined || hash !== hashOf(mined.version)
            ? undefined
            : {
                transactionHash: hash,
                blockHash: hashOf(99),
                blockNumber: mined.block,
                gasUsed: 21_000n,
                effectiveGasPrice: 1n,
              }
        return { head: l1.head, receipts: hashes.map(receiptOf) }
      },
      estimateGas: async () => l1.gas,
      nonceAt: async (_address, block) => (block === 'latest' ? l1.nonces.latest : l1.nonces.pending),
      suggestFees: async () => l1.fees,
    },
    heads: { version: 0, changed: (_version, limitMs, signal) => sleep(clock, limitMs, signal) },
    signer: {
      address: `0x${'22'.repeat(20)}`,
      async signTransaction() {
        versions += 1
        return { hash: hashOf(versions), raw: Uint8Array.of(versions) }
      },
    },
    clock,
    logger: log.logger,
    metrics: createTxManagerMetrics(registry),
    suggestFees: async () => l1.fees,
    proveAgain: (given) => l1.prove(given),
    missingNonceBelow: async () => l1.missing.shift(),
  }
  const loop = new SendLoop(
    modules,
    { ...OPTIONS, ...options },
    {
      tx: TX,
      signed: { hash: hashOf(1), raw: Uint8Array.of(1) },
      sidecar,
    },
  )
  // The test says first how the L1 answers.
  const outcome = nextTurn().then(() => loop.run(stop.signal))
  outcome.catch(() => {})
  return {
    loop,
    outcome,
    l1,
    sent,
    log,
    stop,
    async pass(seconds: number) {
      await loopTurns(10)
      for (let second = 0; second < seconds; second++) {
        await clock.advance(S)
        await loopTurns(10)
      }
    },
    async metric(name: string): Promise<number | undefined> {
      const line = (await registry.metrics())
        .split('\n')
        .find((text) => text.startsWith(`op_batcher_default_txmgr_${name}`))
      return line === undefined ? undefined : Number(line.split(' ').at(-1))
    },
  }
}

describe('a transaction that the L1 accepts', () => {
  it('is sent again unchanged at each rebroadcast, and with higher fees at each resubmission timeout', async () => {
    const { loop, sent, pass, metric } = setUp()
    await pass(97)
    expect(sent).toEqual([0, 12, 24, 36, 48, 60, 72, 84, 96].map((at) => [at, at < 48 ? 1 : at < 96 ? 2 : 3]))
    expect(loop.status).toMatchObject({ nonce: 7, bumps: 2, tipWei: 1_210_000_000n, hash: hashOf(3) })
    expect(loop.hashes).toEqual([1, 2, 3].map(hashOf))
    expect(await metric('tx_gas_bump')).toBe(2)
    expect(await metric('publish_total')).toBe(9)
    expect(loop.leftBehind).toMatchObject({ fees: { tip: 1_210_000_000n } })
  })

  it('counts the L1 blocks without its newest version', async () => {
    const { loop, l1, pass } = setUp({ rebroadcastIntervalMs: 4 * S, receiptQueryIntervalMs: S })
    await pass(1)
    expect(loop.status.missedBlocks).toBe(0)
    l1.head = 8
    await pass(1)
    expect(loop.status.missedBlocks).toBe(3)
    await pass(47)
    expect(loop.status).toMatchObject({ bumps: 1, missedBlocks: 0 })
  })

  it('ends with the receipt of any version that has enough confirmations', async () => {
    const { loop, outcome, l1, sent, pass, metric } = setUp({ numConfirmations: 3, receiptQueryIntervalMs: S })
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
    const { loop, l1, sent, pass } = setUp({ numConfirmations: 3, receiptQueryIntervalMs: S })
    l1.mined = { version: 1, block: 5 }
    await pass(3)
    l1.mined = undefined
    await pass(2)
    expect(sent.map(([at]) => at)).toEqual([0, 4])
    expect(loop.status.minedIn).toBeUndefined()
  })

  it('is awaited although receipts cannot be read', async () => {
    const { outcome, l1, pass, metric } = setUp({ receiptQueryIntervalMs: S })
    l1.receiptFault = new Error('connection lost')
    await pass(3)
    expect(await metric('rpc_error_count')).toBeGreaterThanOrEqual(3)
    l1.receiptFault = undefined
    l1.mined = { version: 1, block: 5 }
    await pass(1)
    expect(await outcome).toMatchObject({ blockNumber: 5 })
  })

  it('ends with the reason of the signal', async () => {
    const { outcome, stop, pass } = setUp()
    await pass(1)
    stop.abort(new Error('closing'))
    await expect(outcome).rejects.toThrow('closing')
  })
})

describe('a transaction that the L1 refuses', () => {
  it('is sent again after growing pauses, until it has been out of the pool for too long', async () => {
    const { loop, outcome, l1, sent, pass } = setUp({ resubmissionTimeoutMs: 600 * S })
    l1.refusal = new Error('connection lost')
    await pass(70)
    expect(sent.map(([at]) => at)).toEqual([0, 1, 3, 7, 15, 27, 39, 51, 63])
    expect(loop.status).toMatchObject({ problem: 'connection lost', missedBlocks: undefined })
    await pass(49)
    expect(loop.leftBehind).toBeUndefined()
    await pass(12)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'mempool'))
  })

  it.each([
    { id: 'no longer holds it', pending: 7, ends: true },
    { id: 'holds it', pending: 8, ends: false },
  ])("is given up only if the pool's next nonce says that the pool $id", async ({ pending, ends }) => {
    const { loop, outcome, l1, pass } = setUp({ resubmissionTimeoutMs: 600 * S })
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
    const { outcome, l1, sent, pass } = setUp()
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
    const { loop, l1, sent, pass } = setUp({ alreadyPublishedErrors: ['errduplicate'] })
    l1.refusal = new JsonRpcError(-32000, text)
    await pass(25)
    expect(sent.map(([at]) => at)).toEqual([0, 12, 24])
    expect(loop.status).toMatchObject({ problem: undefined, missedBlocks: 0 })
  })

  it('is given up at once if another transaction has its nonce', async () => {
    const { loop, outcome, l1, sent, pass, metric } = setUp()
    expect(loop.lostItsNonce).toBe(false)
    l1.refusal = new JsonRpcError(-32000, 'nonce too low')
    await pass(1)
    expect(await metric('tx_publish_error_count{error="nonce_too_low"}')).toBe(1)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
    expect(sent).toHaveLength(1)
    expect(loop.lostItsNonce).toBe(true)
  })

  it('is given up after three such answers if the L1 had accepted it', async () => {
    const { outcome, l1, sent, pass } = setUp()
    await pass(1)
    l1.refusal = new JsonRpcError(-32000, 'nonce too low')
    await pass(34)
    expect(sent).toHaveLength(3)
    await pass(1)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
    expect(sent).toHaveLength(4)
  })

  it('forgets such answers once a version is mined', async () => {
    const { loop, l1, pass } = setUp({ numConfirmations: 9, receiptQueryIntervalMs: S })
    await pass(1)
    l1.refusal = new JsonRpcError(-32000, 'nonce too low')
    await pass(24)
    expect(loop.lostItsNonce).toBe(true)
    l1.mined = { version: 1, block: 5 }
    await pass(30)
    expect(loop.lostItsNonce).toBe(false)
  })

  it('is given up after more than `maxRetries` answers that its nonce is too high', async () => {
    const { outcome, l1, sent, pass } = setUp({ maxRetries: 2 })
    l1.refusal = new JsonRpcError(-32000, 'nonce too high')
    await pass(2)
    expect(sent).toHaveLength(2)
    await pass(2)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'nonce too high'))
    expect(sent).toHaveLength(3)
  })

  it('is given up if the pool holds transactions of the other kind', async () => {
    const { loop, outcome, l1, pass } = setUp()
    expect(loop.isRefusedForKind).toBe(false)
    l1.refusal = new JsonRpcError(-32000, 'address already reserved')
    await pass(1)
    await expect(outcome).rejects.toThrow(errorWith('tx-aborted', 'address already reserved'))
    expect(loop.isRefusedForKind).toBe(true)
  })

  it.each(['replacement transaction underpriced', 'transaction underpriced'])(
    'is replaced at once, once for each publication: %s',
    async (text) => {
      const { l1, sent, pass } = setUp()
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
    const { loop, l1, sent, pass } = setUp()
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
    const { loop, l1, sent, pass } = setUp({ feeLimitMultiplier: 1n, feeLimitThresholdWei: 1n })
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
    const { loop, sent, pass } = setUp({ feeLimitMultiplier: 1n, feeLimitThresholdWei: 1n })
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
    const { outcome, l1, sent, pass } = setUp()
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
    const { loop, l1, sent, pass } = setUp({}, SIDECAR)
    l1.prove = () => Promise.reject(new Error('no memory'))
    await pass(1)
    expect(sent).toEqual([])
    expect(loop.status.problem).toMatch(/blob proofs cannot be computed: no memory/)
    l1.prove = async (given) => given
    await pass(2)
    expect(sent).toEqual([[3, 1]])
    expect(loop.status.problem).toBeUndefined()
  })
})
