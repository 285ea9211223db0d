import type { Registry } from 'prom-client'
import type { Hex } from '../../lib/hex.ts'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import { isDepositTx } from '../protocol/index.ts'
import type { L1BlockRef, L2BlockRef, PayloadEnvelope } from '../protocol/types.ts'

import { createRefMetrics } from './refMetrics.ts'

export type L1RefName = 'l1_head' | 'l1_safe' | 'l1_finalized' | 'l1_derived'
export type L2RefName = 'l2_unsafe' | 'l2_safe' | 'l2_local_safe' | 'l2_pending_safe' | 'l2_finalized'

export type NodeMetrics = ReturnType<typeof createNodeMetrics>

/** Seconds; op-node's buckets. */
const SEALING_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const
/** op-node's buckets. */
const REORG_BUCKETS = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 20.5, 50.5, 100.5] as const
const BUILDING_DIFF_BUCKETS = [...SEALING_BUCKETS.map((seconds) => -seconds).reverse(), ...SEALING_BUCKETS]

/**
 * Metrics with op-node's names, so that its dashboards work: namespace `op_node`, process name `default`. src/p2p
 * counts gossip.
 */
export function createNodeMetrics(registry: Registry) {
  const { counter, gauge, histogram, watched, watchedByLabel, event } = createMetricMakers(registry, 'op_node_default_')
  const refs = createRefMetrics(registry)
  const info = gauge('info', 'Version of the node', ['version'])
  const up = gauge('up', '1 once the node has started')
  const idle = gauge('derivation_idle', '1 while derivation waits for a new L1 block')
  const resets = event('pipeline_resets', 'Resets of the derivation pipeline')
  const derivationErrors = event('derivation_errors', 'Errors of derivation steps')
  const reorgDepth = histogram('l1_reorg_depth', 'L1 blocks that a reorg removed', { buckets: REORG_BUCKETS })
  const sequencedTransactions = counter('transactions_sequenced_total', 'Transactions in blocks of this sequencer', [
    'type',
  ])
  const sequencingErrors = event('sequencing_errors', 'Blocks of this sequencer that the engine rejected or lost')
  const followed = counter('follow_source_requests_total', 'Rounds of follow mode', ['result'])
  const inconsistentOrigins = event(
    'sequencer_inconsistent_l1_origin',
    'L1 origins that a reorg had removed when a block was due',
  )
  const sequencerResets = event('sequencer_resets', 'Resets that the sequencer requested')
  const buildingDiff = histogram('sequencer_building_diff_seconds', 'Time a block was built, minus the block time', {
    buckets: BUILDING_DIFF_BUCKETS,
  })
  const builtBlocks = counter('sequencer_building_diff_total', 'Blocks that were built')
  const sealing = histogram('sequencer_sealing_seconds', 'Time it took to seal a block', { buckets: SEALING_BUCKETS })
  const sealedBlocks = counter('sequencer_sealing_total', 'Blocks that were sealed')
  const insertion = histogram('sequencer_insert_seconds', 'Time the engine took to make an own block its head', {
    buckets: SEALING_BUCKETS,
  })
  const publishDelay = histogram('publish_delay_seconds', 'Time an own block waited for its publication', {
    buckets: SEALING_BUCKETS,
  })
  const droppedPublishes = counter(
    'dropped_publishes_total',
    'Own blocks that were not gossiped because they were too old',
  )
  const arrivalDelay = histogram(
    'unsafe_payload_arrival_delay_seconds',
    'Time from the timestamp of a gossiped block to its arrival',
    { buckets: BUILDING_DIFF_BUCKETS },
  )
  const queueLength = gauge('unsafe_payloads_buffer_len', 'Blocks that are waiting for their parent')
  const queueBytes = gauge('unsafe_payloads_buffer_mem_size', 'Estimated bytes of the waiting blocks')

  return {
    started(version: string): void {
      info.set({ version }, 1)
      up.set(1)
    },
    l1Ref: (type: L1RefName, ref: L1BlockRef) => refs.l1(type, ref),
    l2Ref: (type: L2RefName, ref: L2BlockRef) => refs.l2(type, ref),
    /** A block arrived by gossip, on request, or from the operator. */
    receivedPayload({ payload: { blockNumber, blockHash, timestamp } }: PayloadEnvelope): void {
      refs.block('received_payload', { number: blockNumber, hash: blockHash, timestamp })
    },
    /** A block arrived by gossip. */
    gossiped: ({ payload }: PayloadEnvelope, atMs: number) => arrivalDelay.observe(atMs / 1000 - payload.timestamp),
    l1Reorg: (depth: number) => reorgDepth.observe(depth),
    derivationIdle: (isIdle: boolean) => idle.set(isIdle ? 1 : 0),
    pipelineReset: resets,
    /** `result` is op-node's: success, or why a round failed. */
    followed: (result: string) => followed.inc({ result }),
    derivationError: derivationErrors,
    sealed({ payload }: PayloadEnvelope, sealingMs: number, buildingDiffMs: number): void {
      const deposits = payload.transactions.filter(isDepositTx).length
      sequencedTransactions.inc({ type: 'deposits' }, deposits)
      sequencedTransactions.inc({ type: 'txns' }, payload.transactions.length - deposits)
      sealedBlocks.inc()
      sealing.observe(sealingMs / 1000)
      builtBlocks.inc()
      buildingDiff.observe(buildingDiffMs / 1000)
    },
    inserted: (insertionMs: number) => insertion.observe(insertionMs / 1000),
    published: (delayMs: number) => publishDelay.observe(delayMs / 1000),
    droppedPublish: () => droppedPublishes.inc(),
    watchPublishQueue: (length: () => number) =>
      watched('publish_queue_len', 'Own blocks that are waiting to be gossiped', length),
    sequencingError: sequencingErrors,
    inconsistentOrigin: inconsistentOrigins,
    sequencerReset: sequencerResets,
    watchHealth: (states: () => Readonly<Record<string, number>>) =>
      watchedByLabel('gauge', 'health', '1 for the current health state of the node', 'state', states),
    watchSequencer: (isActive: () => boolean) =>
      watched('sequencer_active', '1 while this node builds the blocks', () => (isActive() ? 1 : 0)),
    /** `lowest`: the waiting block with the lowest number. */
    unsafeQueue(length: number, bytes: number, lowest?: { number: number; hash: Hex }): void {
      if (lowest !== undefined) refs.block('l2_buffer_unsafe', { number: lowest.number, hash: lowest.hash })
      queueLength.set(length)
      queueBytes.set(bytes)
    },
  }
}
