import { Registry } from 'prom-client'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { ManualClock, sleep } from '../../lib/clock.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import { decodeRlp, encodeTypedRlp, rlpBigInt, rlpBytes, rlpList, rlpNumber } from '../../lib/rlp.ts'
import { metricValue } from '../../lib/testUtils/metricValue.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import type { CallRequest, SubmitterL1 } from '../l1/submitterL1.ts'
import type { FeeSuggestion } from '../txmgr/fees.ts'
import type { ForeignTx } from '../txmgr/foreignTx.ts'
import { createTxManagerMetrics } from '../txmgr/metrics.ts'
import type { TxManagerOptions } from '../txmgr/options.ts'
import { createLocalSigner } from '../txmgr/signer.ts'
import { type TxCandidate, TxManager } from '../txmgr/txManager.ts'
import { createLogRecorder } from './logRecorder.ts'
import { FEES, hashOf, passSeconds, receiptOf, S, START_MS, STEPPED_OPTIONS } from './steppedSend.ts'
import { BATCHER_KEY } from './submitterSetup.ts'

/** The account's nonce at the start. */
export const NONCE = 7
export const FOREIGN_HASH = hashOf(0xf0)
export const never = new AbortController().signal
const signer = createLocalSigner({ privateKey: BATCHER_KEY })

export const INBOX: Hex = `0x${'11'.repeat(20)}`
export const calldata = (byte: number) => ({ to: INBOX, data: Uint8Array.of(byte) })
export const CALLDATA = calldata(1)
export const BLOB = { to: INBOX, data: new Uint8Array(), blobs: [Uint8Array.of(9)] }

/** For `onRequest`: the L1 refuses one method. */
export const fault = (faulty: string) => async (method: string) => {
  if (method === faulty) throw new Error('busy')
}

/** For `onRequest`: the L1 does not answer one method. */
export const silence = (silent: string) => async (method: string, signal: AbortSignal | undefined) => {
  if (method === silent) await untilAborted(new Promise(() => {}), signal)
}

export const noncesOf = (txs: readonly { nonce: number }[]) => txs.map(({ nonce }) => nonce)

/** A published transaction, as the L1 reads it. */
export type SentTx = ReturnType<typeof readSent>
type PoolTx = Pick<SentTx, 'hash' | 'nonce' | 'to'>

function readSent(bytes: Uint8Array) {
  const type = bytes[0] ?? 0
  const body = rlpList(decodeRlp(bytes.subarray(1)), 'transaction')
  // The network form of a blob transaction has the fields in a list of their own.
  const isNetworkForm = Array.isArray(body[0])
  const fields = isNetworkForm ? rlpList(body[0], 'fields') : body
  const [, nonce, tip, feeCap, , to, , data, , blobFeeCap] = fields
  return {
    hash: keccak256Hex(encodeTypedRlp(type, fields)),
    type,
    nonce: rlpNumber(nonce, 'nonce'),
    tip: rlpBigInt(tip, 'tip'),
    feeCap: rlpBigInt(feeCap, 'fee cap'),
    blobFeeCap: type === 3 ? rlpBigInt(blobFeeCap, 'blob fee cap') : undefined,
    to: toHex(rlpBytes(to, 'to')),
    data: toHex(rlpBytes(data, 'data')),
    proofs: !isNetworkForm ? undefined : body.length === 5 ? 'cell' : 'blob',
  }
}

interface SteppedL1 {
  head: number
  fees: FeeSuggestion
  /** Tips of the head's blob transactions. */
  blobTips: bigint[]
  pool: Map<number, PoolTx>
  /** Transactions of the account, from `NONCE` on. */
  mined: (PoolTx & { block: number })[]
  /** Transactions that the L1 was asked to execute with a request for fees. */
  calls: CallRequest[]
  /** Called before each answer. */
  onRequest: (method: keyof SubmitterL1, signal: AbortSignal | undefined) => Promise<unknown>
  /** Why the pool refuses the transaction. */
  refusalOf: (tx: SentTx) => string | undefined
  readonly nonce: number
  /** Adds a block with all transactions of the pool that follow without a gap. */
  mine(): void
  /** Another program's transaction enters the pool. The next nonce by default. */
  addForeign(nonce?: number): void
}

class CountingClock extends ManualClock {
  readonly open = new Set<object>()
  override setTimeout(callback: () => void, delayMs: number): () => void {
    const timer = {}
    this.open.add(timer)
    const cancel = super.setTimeout(() => {
      this.open.delete(timer)
      callback()
    }, delayMs)
    return () => {
      this.open.delete(timer)
      cancel()
    }
  }
}

/** A transaction manager on a stepped clock, over an L1 that mines the pool's transactions when the test says so. */
export function createSteppedManager(options: Partial<TxManagerOptions> = {}, { reportsForeign = true } = {}) {
  const clock = new CountingClock(START_MS)
  const registry = new Registry()
  const log = createLogRecorder()
  const sent: SentTx[] = []
  const foreign: ForeignTx[] = []
  const l1: SteppedL1 = {
    head: 5,
    fees: { ...FEES, blobBaseFee: 1n },
    blobTips: [],
    pool: new Map(),
    mined: [],
    calls: [],
    onRequest: async () => undefined,
    refusalOf: () => undefined,
    get nonce() {
      return NONCE + l1.mined.length
    },
    mine() {
      l1.head++
      for (let tx = l1.pool.get(l1.nonce); tx !== undefined; tx = l1.pool.get(l1.nonce)) {
        l1.pool.delete(tx.nonce)
        l1.mined.push({ ...tx, block: l1.head })
      }
    },
    addForeign(nonce = l1.nonce) {
      l1.pool.set(nonce, { hash: FOREIGN_HASH, nonce, to: signer.address })
    },
  }
  const proofs = { gate: Promise.resolve(), computed: [] as ('blob' | 'cell')[] }

  function answering<Args extends unknown[], T>(method: keyof SubmitterL1, answer: (...args: Args) => T) {
    return async (...args: Args): Promise<T> => {
      await l1.onRequest(
        method,
        args.find((arg) => arg instanceof AbortSignal),
      )
      return answer(...args)
    }
  }

  const endpoint: SubmitterL1 = {
    chainId: answering('chainId', () => 900n),
    balance: answering('balance', () => 1n),
    head: answering('head', () => ({ number: l1.head, hash: hashOf(1), parentHash: hashOf(0), timestamp: l1.head })),
    suggestFees: answering('suggestFees', (call) => {
      if (call !== undefined) l1.calls.push(call)
      return l1.fees
    }),
    estimateGas: answering('estimateGas', () => 21_000n),
    nonceAt: answering('nonceAt', (_address, block) => {
      if (typeof block === 'number') return NONCE + l1.mined.filter((tx) => tx.block <= block).length
      let { nonce } = l1
      while (block !== 'latest' && l1.pool.has(nonce)) nonce++
      return nonce
    }),
    transactionsOf: answering('transactionsOf', (_address, block) =>
      l1.mined.filter((tx) => tx.block === block).map(({ hash, to, nonce }) => ({ hash, to, nonce })),
    ),
    blobTips: answering('blobTips', (blocks) => blocks.map((block) => (block === l1.head ? l1.blobTips : []))),
    pendingTx: answering('pendingTx', () => undefined),
    sendRawTransaction: answering('sendRawTransaction', (raw) => {
      const tx = readSent(raw)
      sent.push(tx)
      const refusal = tx.nonce < l1.nonce ? 'nonce too low' : l1.refusalOf(tx)
      if (refusal !== undefined) throw new JsonRpcError(-32000, refusal)
      l1.pool.set(tx.nonce, tx)
    }),
    receipts: answering('receipts', (hashes: readonly Hex[]) => {
      const blocks = new Map(l1.mined.map(({ hash, block }) => [hash, block]))
      const receipts = hashes.map((hash) => {
        const block = blocks.get(hash)
        return block === undefined ? undefined : receiptOf(hash, block)
      })
      return { head: l1.head, receipts }
    }),
  }

  async function prove<T>(form: 'blob' | 'cell', proof: (blob: Uint8Array) => T, blobs: readonly Uint8Array[]) {
    await proofs.gate
    proofs.computed.push(form)
    return blobs.map(proof)
  }
  const point = (blob: Uint8Array) => new Uint8Array(48).fill(blob[0] ?? 0)

  const manager = new TxManager(
    {
      l1: endpoint,
      heads: { version: 0, changed: (_version, limitMs, signal) => sleep(clock, limitMs, signal) },
      signer,
      kzg: {
        commitments: async (blobs) => blobs.map(point),
        blobProofs: (blobs) => prove('blob', point, blobs),
        cellProofs: (blobs) => prove('cell', (blob) => Array.from({ length: 128 }, () => point(blob)), blobs),
      },
      clock,
      logger: log.logger,
      metrics: createTxManagerMetrics(registry),
      ...(reportsForeign ? { onForeign: (tx: ForeignTx) => foreign.push(tx) } : {}),
    },
    { ...STEPPED_OPTIONS, receiptQueryIntervalMs: S, ...options, chainId: 900n },
  )
  return {
    manager,
    l1,
    proofs,
    sent,
    foreign,
    log,
    /** Timers that have neither fired nor been cancelled. */
    openTimers: () => clock.open.size,
    send(candidate: TxCandidate, signal: AbortSignal = never) {
      const outcome = manager.send(candidate, signal)
      // The test looks at it later.
      outcome.catch(() => {})
      return outcome
    },
    pass: (seconds: number) => passSeconds(clock, seconds),
    metric: (name: string) => metricValue(registry, `op_batcher_default_txmgr_${name}`),
  }
}
