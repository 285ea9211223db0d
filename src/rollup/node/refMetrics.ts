import type { Registry } from 'prom-client'
import type { Hex } from '../../lib/hex.ts'
import { createMetricMakers } from '../../lib/metricMakers.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'

type Layer = 'l1' | 'l2' | 'l1_origin'

interface SeenRef {
  layer: Layer
  type: string
  number: number
  hash: Hex
  timestamp: number | undefined
  /** Timestamp minus the time at which the block was first seen, in seconds: negative, as in op-node. */
  latency: number | undefined
  sequenceNumber: number | undefined
}

/**
 * op-node's `refs_*` metrics: the positions of the heads. A head may move ten thousand times a second, so the last
 * value is stored and converted to metrics at each scrape.
 */
export function createRefMetrics(registry: Registry) {
  const { sampled } = createMetricMakers(registry, 'op_node_default_')
  const seen = new Map<string, SeenRef>()
  const note = (ref: Omit<SeenRef, 'latency'>): void => {
    const key = `${ref.layer} ${ref.type}`
    const before = seen.get(key)
    if (before?.hash === ref.hash) return
    const latency = ref.timestamp === undefined ? undefined : ref.timestamp - Date.now() / 1000
    seen.set(key, { ...ref, latency })
  }
  const refGauge = (name: string, help: string, read: (ref: SeenRef) => number | undefined) =>
    sampled('gauge', name, help, ['layer', 'type'], () =>
      [...seen.values()].flatMap((ref) => {
        const value = read(ref)
        return value === undefined ? [] : [{ labels: { layer: ref.layer, type: ref.type }, value }]
      }),
    )
  refGauge('refs_number', 'Number of a tracked block', ({ number }) => number)
  refGauge('refs_time', 'Timestamp of a tracked block', ({ timestamp }) => timestamp)
  refGauge(
    'refs_latency',
    'Timestamp of a tracked block minus the time it was first seen, in seconds',
    (ref) => ref.latency,
  )
  refGauge(
    'refs_hash',
    'First 8 bytes of the hash of a tracked block as a number, to see where nodes differ',
    ({ hash }) => Number(Buffer.from(hash.slice(2, 18), 'hex').readBigUInt64LE()),
  )
  refGauge('refs_seqnr', 'Sequence number of a tracked L2 block', ({ sequenceNumber }) => sequenceNumber)

  return {
    l1(type: string, { number, hash, timestamp }: L1BlockRef): void {
      note({ layer: 'l1', type, number, hash, timestamp, sequenceNumber: undefined })
    },
    l2(type: string, { number, hash, timestamp, sequenceNumber, l1Origin }: L2BlockRef): void {
      note({ layer: 'l2', type, number, hash, timestamp, sequenceNumber })
      note({ layer: 'l1_origin', type, ...l1Origin, timestamp: undefined, sequenceNumber: undefined })
    },
    /** A block of which only number and hash are known. */
    block(type: string, { number, hash, timestamp }: { number: number; hash: Hex; timestamp?: number }): void {
      note({ layer: 'l2', type, number, hash, timestamp, sequenceNumber: undefined })
    },
  }
}
