import type { Registry } from 'prom-client'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import { isDepositTx } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef, PayloadEnvelope } from '../protocol/types.ts'

export type L1RefName = 'l1_head' | 'l1_safe' | 'l1_finalized' | 'l1_derived'
export type L2RefName = 'l2_unsafe' | 'l2_safe' | 'l2_pending_safe' | 'l2_finalized'

export type NodeMetrics = ReturnType<typeof createNodeMetrics>

/** Seconds; op-node's buckets. */
const SEALING_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const
const BUILDING_DIFF_BUCKETS = [...SEALING_BUCKETS.map((seconds) => -seconds).reverse(), ...SEALING_BUCKETS]

/**
 * op-node's names, so that its dashboards work: namespace `op_node`, process name `default`. What concerns gossip is
 * counted by the p2p room.
 */
export function createNodeMetrics(registry: Registry) {
  const { counter, gauge, histogram, watched } = createMetricMakers(registry, 'op_node_default_')
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
  const sequencingErrors = event('sequencing_errors', 'Blocks of this sequencer that the engine refused or lost')
  const inconsistentOrigins = event(
    'sequencer_inconsistent_l1_origin',
    'L1 origins that were gone when a block was due',
  )
  const sequencerResets = event('sequencer_resets', 'Resets that the sequencer asked for')
  const buildingDiff = histogram('sequencer_building_diff_seconds', 'Time a block was built, minus the block time', {
    buckets: BUILDING_DIFF_BUCKETS,
  })
  const builtBlocks = counter('sequencer_building_diff_total', 'Blocks that were built')
  const sealing = histogram('sequencer_sealing_seconds', 'Time it took to seal a block', { buckets: SEALING_BUCKETS })
  const sealedBlocks = counter('sequencer_sealing_total', 'Blocks that were sealed')
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
    /** A block of the sequencer's own is complete. */
    sealed({ payload }: PayloadEnvelope, sealingMs: number, buildingDiffMs: number): void {
      const deposits = payload.transactions.filter(isDepositTx).length
      sequencedTransactions.inc({ type: 'deposits' }, deposits)
      sequencedTransactions.inc({ type: 'txns' }, payload.transactions.length - deposits)
      sealedBlocks.inc()
      sealing.observe(sealingMs / 1000)
      builtBlocks.inc()
      buildingDiff.observe(buildingDiffMs / 1000)
    },
    sequencingError: sequencingErrors,
    inconsistentOrigin: inconsistentOrigins,
    sequencerReset: sequencerResets,
    watchSequencer: (isActive: () => boolean) =>
      watched('sequencer_active', '1 while this node makes the blocks', () => (isActive() ? 1 : 0)),
    unsafeQueue(length: number, bytes: number): void {
      queueLength.set(length)
      queueBytes.set(bytes)
    },
  }
  /** op-node counts an event and says when it was last. */
  function event(name: string, help: string): () => void {
    const total = counter(`${name}_total`, help)
    const last = gauge(`last_${name}_unix`, `Time of the last of: ${help}`)
    return () => {
      total.inc()
      last.set(Math.floor(Date.now() / 1000))
    }
  }
}
