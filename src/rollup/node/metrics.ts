import type { Registry } from 'prom-client'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import { isDepositTx } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'

export type L1RefName = 'l1_head' | 'l1_safe' | 'l1_finalized' | 'l1_derived'
export type L2RefName = 'l2_unsafe' | 'l2_safe' | 'l2_pending_safe' | 'l2_finalized'

export type NodeMetrics = ReturnType<typeof createNodeMetrics>

/**
 * op-node's names, so that its dashboards work: namespace `op_node`, process name `default`. What concerns gossip is
 * counted by the p2p room.
 */
export function createNodeMetrics(registry: Registry) {
  const { counter, gauge, watched } = createMetricMakers(registry, 'op_node_default_')
  const refLabels = ['layer', 'type'] as const
  const refNumber = gauge('refs_number', 'Number of a tracked block', refLabels)
  const refTime = gauge('refs_time', 'Timestamp of a tracked block', refLabels)
  const refSequence = gauge('refs_seqnr', 'Sequence number of a tracked L2 block', refLabels)
  const info = gauge('info', 'Version of the node', ['version'])
  const up = gauge('up', '1 once the node has started')
  const idle = gauge('derivation_idle', '1 while derivation waits for a new L1 block')
  const resets = counter('pipeline_resets_total', 'Resets of the derivation pipeline')
  const derivationErrors = counter('derivation_errors_total', 'Errors of derivation steps')
  const sequencedTransactions = counter('transactions_sequenced_total', 'Transactions in blocks of this sequencer', [
    'type',
  ])
  const queueLength = gauge('unsafe_payloads_buffer_len', 'Blocks that wait for their parent')
  const queueBytes = gauge('unsafe_payloads_buffer_mem_size', 'Estimated bytes of the blocks that wait')

  return {
    started(version: string): void {
      info.set({ version }, 1)
      up.set(1)
    },
    l1Ref(type: L1RefName, ref: L1BlockRef): void {
      refNumber.set({ layer: 'l1', type }, ref.number)
      refTime.set({ layer: 'l1', type }, ref.timestamp)
    },
    l2Ref(type: L2RefName, ref: L2BlockRef): void {
      refNumber.set({ layer: 'l2', type }, ref.number)
      refTime.set({ layer: 'l2', type }, ref.timestamp)
      refSequence.set({ layer: 'l2', type }, ref.sequenceNumber)
    },
    derivationIdle: (isIdle: boolean) => idle.set(isIdle ? 1 : 0),
    pipelineReset: () => resets.inc(),
    derivationError: () => derivationErrors.inc(),
    sequencedTransactions(transactions: readonly Uint8Array[]): void {
      const deposits = transactions.filter(isDepositTx).length
      sequencedTransactions.inc({ type: 'deposits' }, deposits)
      sequencedTransactions.inc({ type: 'txns' }, transactions.length - deposits)
    },
    watchSequencer: (isActive: () => boolean) =>
      watched('sequencer_active', '1 while this node makes the blocks', () => (isActive() ? 1 : 0)),
    unsafeQueue(length: number, bytes: number): void {
      queueLength.set(length)
      queueBytes.set(bytes)
    },
  }
}
