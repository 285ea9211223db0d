import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { feeOf, type TxReceipt } from '../l1/submitterL1.ts'
import type { FeeSuggestion } from './fees.ts'

export interface TxManagerMetrics {
  suggested(fees: FeeSuggestion): void
  /** Tip of a blob transaction, from the tips of recent ones. Wei. */
  blobTip(tip: bigint): void
  published(): void
  publishError(label: string): void
  bumped(times: number): void
  confirmed(receipt: TxReceipt, latencyMs: number): void
  failed(): void
  nonce(next: number): void
  pending(count: number): void
  rpcError(): void
}

const nothing = () => {}

export const noTxManagerMetrics: TxManagerMetrics = {
  suggested: nothing,
  blobTip: nothing,
  published: nothing,
  publishError: nothing,
  bumped: nothing,
  confirmed: nothing,
  failed: nothing,
  nonce: nothing,
  pending: nothing,
  rpcError: nothing,
}

/** Metrics under op-batcher's names. */
export function createTxManagerMetrics(registry: Registry): TxManagerMetrics {
  const registers = [registry]
  const name = (suffix: string) => `op_batcher_default_txmgr_${suffix}`
  const gauge = (suffix: string, help: string) => new Gauge({ name: name(suffix), help, registers })
  const feeGwei = gauge('tx_fee_gwei', 'L1 fee of the last confirmed transaction in gwei')
  const feeTotal = new Counter({
    name: name('tx_fee_gwei_total'),
    help: 'L1 fees of all transactions in gwei',
    registers,
  })
  const feeHistogram = new Histogram({
    name: name('tx_fee_histogram_gwei'),
    help: 'L1 fees of transactions in gwei',
    buckets: [0.5, 1, 2, 5, 10, 20, 40, 60, 80, 100, 200, 400, 800, 1600],
    registers,
  })
  const gasBump = gauge('tx_gas_bump', 'Fee bumps of the last bumped transaction')
  const latency = gauge('tx_confirmed_latency_ms', 'Time from creation to confirmation of the last transaction')
  const currentNonce = gauge('current_nonce', 'Next nonce of the sender')
  const pendingTxs = gauge('pending_txs', 'Transactions waiting for confirmation')
  const publishErrors = new Counter({
    name: name('tx_publish_error_count'),
    help: 'Failed publications by reason',
    labelNames: ['error'],
    registers,
  })
  const confirmTotal = new Counter({
    name: name('confirm_total'),
    help: 'Sends by outcome',
    labelNames: ['status'],
    registers,
  })
  const lastConfirm = new Gauge({
    name: name('last_confirm_unix'),
    help: 'Time of the last send by outcome',
    labelNames: ['status'],
    registers,
  })
  const lastPublish = gauge('last_publish_unix', 'Time when the L1 last accepted a transaction')
  const publishTotal = new Counter({ name: name('publish_total'), help: 'Transactions accepted by the L1', registers })
  const baseFeeWei = gauge('basefee_wei', 'Base fee of the latest L1 block in wei')
  const blobBaseFeeWei = gauge('blob_basefee_wei', 'Blob base fee of the next L1 block in wei')
  const txType = gauge('tx_type', 'Type of the last confirmed transaction: 2, or 3 with blobs')
  const tipCapWei = gauge('tipcap_wei', 'Tip suggested by the L1 in wei')
  const blobTipCapWei = gauge('blob_tipcap_wei', 'Tip of blob transactions in recent L1 blocks in wei')
  const rpcErrors = new Counter({ name: name('rpc_error_count'), help: 'Failed L1 requests', registers })

  const ended = (status: string) => {
    confirmTotal.inc({ status })
    lastConfirm.setToCurrentTime({ status })
  }

  return {
    suggested(fees) {
      baseFeeWei.set(Number(fees.baseFee))
      tipCapWei.set(Number(fees.tip))
      if (fees.blobBaseFee !== undefined) blobBaseFeeWei.set(Number(fees.blobBaseFee))
    },
    blobTip: (tip) => blobTipCapWei.set(Number(tip)),
    published() {
      publishTotal.inc()
      lastPublish.setToCurrentTime()
    },
    publishError: (label) => publishErrors.inc({ error: label }),
    bumped: (times) => gasBump.set(times),
    confirmed(receipt, latencyMs) {
      const gwei = Number(feeOf(receipt)) / 1e9
      txType.set(receipt.blobGasUsed === undefined ? 2 : 3)
      feeGwei.set(gwei)
      feeTotal.inc(gwei)
      feeHistogram.observe(gwei)
      latency.set(latencyMs)
      ended('success')
    },
    failed: () => ended('failed'),
    nonce: (next) => currentNonce.set(next),
    pending: (count) => pendingTxs.set(count),
    rpcError: () => rpcErrors.inc(),
  }
}
