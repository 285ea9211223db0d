import { Registry } from 'prom-client'
import { ManualClock, sleep } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { loopTurns, nextTurn } from '../../lib/nextTurn.ts'
import { metricValue } from '../../lib/testUtils/metricValue.ts'
import type { TxReceipt } from '../l1/submitterL1.ts'
import type { TxKind } from '../txmgr/fees.ts'
import { createTxManagerMetrics } from '../txmgr/metrics.ts'
import type { TxManagerOptions } from '../txmgr/options.ts'
import { SendLoop, type SendLoopModules } from '../txmgr/sendLoop.ts'
import type { BlobSidecar } from '../txmgr/sidecar.ts'
import type { L1Tx } from '../txmgr/transaction.ts'
import { TEST_TX_OPTIONS } from './submitterSetup.ts'

export const S = 1_000
export const START_MS = 1_000_000 * S
export const STEPPED_OPTIONS: TxManagerOptions = {
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
export const FEES = { tip: 1_000_000_000n, baseFee: 1_000_000_000n }
const TX: L1Tx = {
  chainId: 900n,
  nonce: 7,
  fees: { tip: 1_000_000_000n, feeCap: 3_000_000_000n },
  gasLimit: 21_000n,
  to: `0x${'11'.repeat(20)}`,
  data: new Uint8Array(0),
}
const BLOB_TX: L1Tx = { ...TX, fees: { ...TX.fees, blobFeeCap: 1n }, blobHashes: [`0x${'01'.repeat(32)}`] }
export const hashOf = (version: number): Hex => `0x${version.toString(16).padStart(64, '0')}`

/** Lets what is due happen, then `seconds` seconds one by one. */
export async function passSeconds(clock: ManualClock, seconds: number): Promise<void> {
  await loopTurns(10)
  for (let second = 0; second < seconds; second++) {
    await clock.advance(S)
    await loopTurns(10)
  }
}

export const receiptOf = (transactionHash: Hex, blockNumber: number): TxReceipt => ({
  transactionHash,
  blockHash: hashOf(99),
  blockNumber,
  gasUsed: 21_000n,
  effectiveGasPrice: 1n,
})

/** A send on a stepped clock, over an L1 that answers as the test says. */
export function startSend(options: Partial<TxManagerOptions> = {}, sidecar?: BlobSidecar) {
  const clock = new ManualClock(START_MS)
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
    feesFault: undefined as Error | undefined,
    gas: 21_000n,
    prove: async (given: BlobSidecar) => given,
  }
  /** Of each request for fees. */
  const kinds: TxKind[] = []
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
        const answers = hashes.map((hash) =>
          mined !== undefined && hash === hashOf(mined.version) ? receiptOf(hash, mined.block) : undefined,
        )
        return { head: l1.head, receipts: answers }
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
    logger: silentLogger,
    metrics: createTxManagerMetrics(registry),
    async suggestFees(kind) {
      kinds.push(kind)
      if (l1.feesFault !== undefined) throw l1.feesFault
      return l1.fees
    },
    proveAgain: (given) => l1.prove(given),
    missingNonceBelow: async () => l1.missing.shift(),
  }
  const loop = new SendLoop(
    modules,
    { ...STEPPED_OPTIONS, ...options },
    {
      tx: sidecar === undefined ? TX : BLOB_TX,
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
    kinds,
    stop,
    pass: (seconds: number) => passSeconds(clock, seconds),
    metric: (name: string) => metricValue(registry, `op_batcher_default_txmgr_${name}`),
  }
}
