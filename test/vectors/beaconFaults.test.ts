import { describe, expect, it, onTestFinished } from 'vitest'
import { createBeacon, createBlobsAhead, createL1Client, createReadAhead } from '../../src/l1/index.ts'
import { type BeaconServer, json, startBeaconServer } from '../../src/l1/testUtils/beaconServer.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { severityOf } from '../../src/lib/errors.ts'
import { fromHex, type Hex, quantityToNumber, toHex } from '../../src/lib/hex.ts'
import { kzg } from '../../src/lib/kzg/testUtils/kzgInTest.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { createDerivationPipeline } from '../../src/rollup/derive/index.ts'
import { payloadToL2BlockRef } from '../../src/rollup/protocol/index.ts'
import type { L2BlockRef } from '../../src/rollup/protocol/types.ts'
import { loadRecording, type RecordingName, recordedL1Rpc, recordedL2Source } from '../support/recording.ts'

// Chains with their batches in blobs, derived through beacon nodes that have faults: whatever they do, no batch is passed
// over, and what comes out is what was recorded.

type Recording = ReturnType<typeof loadRecording>

/** A beacon node that has the recorded blobs: slots of a second, from the first L1 block on. */
async function startRecordedBeacon({ l1 }: Recording): Promise<BeaconServer> {
  const server = await startBeaconServer()
  onTestFinished(server.stop)
  server.secondsPerSlot = 1
  server.genesisTime = quantityToNumber(l1[0]?.timestamp)
  for (const block of l1) {
    const hashes = block.transactions.flatMap(({ blobVersionedHashes }) => (blobVersionedHashes ?? []) as Hex[])
    const blobs = hashes.map((hash, index) => {
      const blob = fromHex(block.blobs?.[index] ?? '0x')
      return { blob, hash, commitment: new Uint8Array(48), proof: new Uint8Array(48) }
    })
    server.slots.set(quantityToNumber(block.timestamp) - server.genesisTime, blobs)
  }
  return server
}

/** Derives to the end of the recorded L1 as the node's loop does: temporary errors are tried again, resets carried out. */
async function derive(recording: Recording, servers: readonly BeaconServer[]) {
  const { config, l2 } = recording
  const refAt = (number: number): L2BlockRef => {
    const envelope = l2[number]
    if (envelope === undefined) throw new Error(`the recording has no L2 block ${number}`)
    return payloadToL2BlockRef(envelope.payload, config)
  }
  const [url = '', ...fallbackUrls] = servers.map((server) => server.url)
  const modules = { kzg, clock: systemClock, logger: silentLogger }
  const { client: beacon } = createBeacon(modules, { url, fallbackUrls })
  onTestFinished(beacon.close)
  const blobs = createBlobsAhead(beacon, { batchInbox: config.batchInboxAddress })
  const client = createL1Client({ rpc: recordedL1Rpc(recording), logger: silentLogger, clock: systemClock })
  const l1 = createReadAhead(client, blobs.onBlock)
  const head = await client.blockInfoByNumber(recording.l1.length - 1)
  if (head !== undefined) l1.onHead(head)

  let safe = refAt(0)
  const l2Source = recordedL2Source(recording, () => safe.number)
  const pipeline = createDerivationPipeline({ l1, l2: l2Source, blobs, logger: silentLogger }, config)
  const counts = { temporary: 0, reset: 0 }
  const transactions: string[][] = []
  let isReady = false
  for (;;) {
    try {
      if (!isReady) await pipeline.reset(safe)
      isReady = true
      const result = await pipeline.step(safe)
      if (result.kind === 'idle') return { safe, transactions, counts, status: beacon.status() }
      if (result.kind !== 'attributes') continue
      transactions.push(result.derived.attributes.transactions.map(toHex))
      safe = refAt(safe.number + 1)
    } catch (error) {
      const severity = severityOf(error)
      if (severity === 'critical') throw error
      counts[severity] += 1
      isReady = severity !== 'reset'
      if (counts.temporary + counts.reset > 500) throw error
    }
  }
}

const expected = ({ l2 }: Recording, safe: number) =>
  l2.slice(1, safe + 1).map(({ payload }) => payload.transactions.map(toHex))

describe.each<RecordingName>(['granite-span-zlib-blobs', '2026-holocene-to-karst-blobs'])('%s', (name) => {
  const recording = loadRecording(name)

  it('is derived through a beacon node', async () => {
    const { safe, transactions, counts } = await derive(recording, [await startRecordedBeacon(recording)])
    expect(safe.number).toBeGreaterThan(20)
    expect(transactions).toEqual(expected(recording, safe.number))
    expect(counts).toEqual({ temporary: 0, reset: 0 })
  })

  it('is derived with one lying, one incomplete and one lagging beacon node', async () => {
    const whole = await derive(recording, [await startRecordedBeacon(recording)])
    const [liar, lacking, lagging] = [
      await startRecordedBeacon(recording),
      await startRecordedBeacon(recording),
      await startRecordedBeacon(recording),
    ]
    const wrong = toHex(new Uint8Array(131_072).fill(1))
    liar.fault = (response) => json(response, 200, { data: [wrong] })
    for (const slot of [...lacking.slots.keys()].filter((_, index) => index % 2 === 0)) lacking.slots.set(slot, [])
    // Each block comes there a few questions later than to the others.
    const requests = new Map<number, number>()
    lagging.fault = (response, slot) => {
      const times = (requests.get(slot) ?? 0) + 1
      requests.set(slot, times)
      if (times < 5) return json(response, 404, { code: 404, message: 'Block not found' })
      json(response, 200, { data: (lagging.slots.get(slot) ?? []).map(({ blob }) => toHex(blob)) })
    }
    const { safe, transactions, counts, status } = await derive(recording, [liar, lacking, lagging])
    expect(safe).toEqual(whole.safe)
    expect(transactions).toEqual(whole.transactions)
    expect(counts.temporary).toBeGreaterThan(0)
    expect(status.endpoints[0]?.problem?.message).toContain('wrong blob')
  })

  it('is derived through a beacon node that knows no block for a long time, with growing pauses between resets', async () => {
    const server = await startRecordedBeacon(recording)
    let failures = 40
    server.fault = (response, slot) => {
      if (failures-- > 0) return json(response, 404, { code: 404, message: 'Block not found' })
      json(response, 200, { data: (server.slots.get(slot) ?? []).map(({ blob }) => toHex(blob)) })
    }
    const { safe, transactions, counts } = await derive(recording, [server])
    expect(transactions).toEqual(expected(recording, safe.number))
    expect(safe.number).toBeGreaterThan(20)
    expect(counts.reset).toBeGreaterThan(0)
    expect(counts.reset).toBeLessThan(counts.temporary / 2)
  })
})
