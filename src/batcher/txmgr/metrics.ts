import type { Registry } from 'prom-client'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import { feeOf, type TxReceipt } from '../l1/submitterL1.ts'
import type { FeeSuggestion } from './fees.ts'

export type TxManagerMetrics = ReturnType<typeof createTxManagerMetrics>

/** Metrics under op-batcher's names. */
export function createTxManagerMetrics(registry: Registry) {
  const { gauge, counter, histogram } = createMetricMakers(registry, 'op_batcher_default_txmgr_')
  const feeGwei = gauge('tx_fee_gwei', 'L1 fee of the last confirmed transaction in gwei')
  const feeTotal = counter('tx_fee_gwei_total', 'L1 fees of all transactions in gwei')
  const feeHistogram = histogram('tx_fee_histogram_gwei', 'L1 fees of transactions in gwei', {
    buckets: [0.5, 1, 2, 5, 10, 20, 40, 60, 80, 100, 200, 400, 800, 1600],
  })
  const gasBump = gauge('tx_gas_bump', 'Fee bumps of the last bumped transaction')
  const latency = gauge('tx_confirmed_latency_ms', 'Time from creation to confirmation of the last transaction')
  const currentNonce = gauge('current_nonce', 'Next nonce of the sender')
  const pendingTxs = gauge('pending_txs', 'Transactions waiting for confirmation')
  const publishErrors = counter('tx_publish_error_count', 'Failed publications by reason', ['error'])
  const confirmTotal = counter('confirm_total', 'Sends by outcome', ['status'])
  const lastConfirm = gauge('last_confirm_unix', 'Time of the last send by outcome', ['status'])
  const lastPublish = gauge('last_publish_unix', 'Time when the L1 last accepted a transaction')
  const publishTotal = counter('publish_total', 'Transactions accepted by the L1')
  const baseFeeWei = gauge('basefee_wei', 'Base fee of the latest L1 block in wei')
  const blobBaseFeeWei = gauge('blob_basefee_wei', 'Blob base fee of the next L1 block in wei')
  const txType = gauge('tx_type', 'Type of the last confirmed transaction: 2, or 3 with blobs')
  const tipCapWei = gauge('tipcap_wei', 'Tip suggested by the L1 in wei')
  const blobTipCapWei = gauge('blob_tipcap_wei', 'Tip of blob transactions in recent L1 blocks in wei')
  const rpcErrors = counter('rpc_error_count', 'Failed L1 requests')

  const ended = (status: string) => {
    confirmTotal.inc({ status })
    lastConfirm.setToCurrentTime({ status })
  }

  return {
    suggested(fees: FeeSuggestion) {
      baseFeeWei.set(Number(fees.baseFee))
      tipCapWei.set(Number(fees.tip))
      if (fees.blobBaseFee !== undefined) blobBaseFeeWei.set(Number(fees.blobBaseFee))
    },
    /** Tip of a blob transaction, from the tips of recent ones. Wei. */
    blobTip: (tip: bigint) => blobTipCapWei.set(Number(tip)),
    published() {
      publishTotal.inc()
      lastPublish.setToCurrentTime()
    },
    publishError: (label: string) => publishErrors.inc({ error: label }),
    bumped: (times: number) => gasBump.set(times),
    confirmed(receipt: TxReceipt, latencyMs: number) {
      const gwei = Number(feeOf(receipt)) / 1e9
      txType.set(receipt.blobGasUsed === undefined ? 2 : 3)
      feeGwei.set(gwei)
      feeTotal.inc(gwei)
      feeHistogram.observe(gwei)
      latency.set(latencyMs)
      ended('success')
    },
    failed: () => ended('failed'),
    nonce: (next: number) => currentNonce.set(next),
    pending: (count: number) => pendingTxs.set(count),
    rpcError: () => rpcErrors.inc(),
  }
}
