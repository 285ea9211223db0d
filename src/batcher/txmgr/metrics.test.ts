import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { createTxManagerMetrics } from './metrics.ts'

it("shows the outcomes of transactions under op-batcher's names", async () => {
  const registry = new Registry()
  const metrics = createTxManagerMetrics(registry)
  const value = async (name: string, labels = '') => {
    const text = await registry.metrics()
    const line = text.split('\n').find((each) => each.startsWith(`op_batcher_default_txmgr_${name}${labels} `))
    return line === undefined ? undefined : Number(line.split(' ').at(-1))
  }
  const receipt = {
    transactionHash: ZERO_HASH,
    blockHash: ZERO_HASH,
    blockNumber: 1,
    gasUsed: 21_000n,
    effectiveGasPrice: 2_000_000_000n,
  }
  metrics.suggested({ tip: 5n, baseFee: 6n, blobBaseFee: 7n })
  metrics.suggested({ tip: 8n, baseFee: 9n })
  metrics.blobTip(4n)
  metrics.published()
  metrics.published()
  metrics.publishError('nonce_too_low')
  metrics.bumped(3)
  metrics.nonce(11)
  metrics.pending(2)
  metrics.rpcError()
  metrics.failed()
  metrics.confirmed(receipt, 1_500)

  expect(await value('basefee_wei')).toBe(9)
  expect(await value('tipcap_wei')).toBe(8)
  expect(await value('blob_basefee_wei')).toBe(7)
  expect(await value('blob_tipcap_wei')).toBe(4)
  expect(await value('publish_total')).toBe(2)
  expect(await value('last_publish_unix')).toBeGreaterThan(0)
  expect(await value('tx_publish_error_count', '{error="nonce_too_low"}')).toBe(1)
  expect(await value('tx_gas_bump')).toBe(3)
  expect(await value('current_nonce')).toBe(11)
  expect(await value('pending_txs')).toBe(2)
  expect(await value('rpc_error_count')).toBe(1)
  expect(await value('confirm_total', '{status="failed"}')).toBe(1)
  expect(await value('confirm_total', '{status="success"}')).toBe(1)
  expect(await value('last_confirm_unix', '{status="success"}')).toBeGreaterThan(0)
  expect(await value('tx_type')).toBe(2)
  expect(await value('tx_fee_gwei')).toBe(42_000)
  expect(await value('tx_confirmed_latency_ms')).toBe(1_500)

  metrics.confirmed({ ...receipt, blobGasUsed: 131_072n, blobGasPrice: 1_000_000_000n }, 1)
  expect(await value('tx_type')).toBe(3)
  expect(await value('tx_fee_gwei')).toBe(42_000 + 131_072)
  expect(await value('tx_fee_gwei_total')).toBe(84_000 + 131_072)
  expect(await value('tx_fee_histogram_gwei_count')).toBe(2)
  expect(await value('tx_fee_histogram_gwei_bucket', '{le="1600"}')).toBe(0)
})
