import { expect, it, onTestFinished } from 'vitest'
import type { RpcClient } from '../../../src/jsonRpc/client.ts'
import { ManualClock } from '../../../src/lib/clock.ts'
import { fromHex, type Hex, toQuantity } from '../../../src/lib/hex.ts'
import { versionedHashOf } from '../../../src/lib/kzg/index.ts'
import { createLogger } from '../../../src/lib/logger.ts'
import type { StoredBlob } from './blobStore.ts'
import { ConsensusClient } from './consensusClient.ts'
import { L1Engine } from './engine.ts'

const GENESIS_TIME = 1_000
const AMSTERDAM_TIME = 1_008
const STEP_MS = 50
const hashOf = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`
const commitment: Hex = `0xc0${'00'.repeat(47)}`
const blob: Hex = `0x${'00'.repeat(131_072)}`

/** A fake execution client. The hash of a block is its number. */
class FakeExecution implements RpcClient {
  readonly url = 'http://engine.example'
  readonly timestamps = [GENESIS_TIME]
  /** `engine_…`, without the prefix. */
  readonly calls: { method: string; params: readonly unknown[] }[] = []
  /** Transaction counts of the next payloads. */
  transactions: number[] = [0]
  status = 'VALID'
  hasBlobs = false
  private attributes: { timestamp?: string } = {}

  async request(method: string, params: readonly unknown[]): Promise<unknown> {
    if (method === 'eth_getBlockByNumber') {
      const number = params[0] === 'latest' ? this.timestamps.length - 1 : Number(params[0])
      const timestamp = toQuantity(this.timestamps[number] ?? 0)
      return { number: toQuantity(number), hash: hashOf(number), timestamp, baseFeePerGas: '0x7' }
    }
    this.calls.push({ method: method.replace('engine_', ''), params })
    const payloadStatus = { status: this.status, validationError: null }
    if (method.startsWith('engine_getPayload')) return this.payload()
    if (method.startsWith('engine_newPayload')) {
      if (this.status === 'VALID') this.timestamps.push(Number(this.attributes.timestamp))
      return payloadStatus
    }
    const [, attributes] = params
    if (typeof attributes === 'object' && attributes !== null) this.attributes = attributes
    return { payloadStatus, payloadId: attributes === null ? null : `0x${'01'.repeat(8)}` }
  }

  async batch() {
    return []
  }
  async close() {}

  private payload() {
    const count = this.transactions.length > 1 ? this.transactions.shift() : this.transactions[0]
    const number = this.timestamps.length
    const executionPayload = {
      ...{ blockNumber: toQuantity(number), blockHash: hashOf(number), ...this.attributes },
      transactions: Array.from({ length: count ?? 0 }, () => '0x02'),
    }
    const blobsBundle = this.hasBlobs ? { commitments: [commitment], proofs: [], blobs: [blob] } : undefined
    return { executionPayload, blobsBundle, executionRequests: ['0x00'] }
  }
}

function clientInTest() {
  const execution = new FakeExecution()
  const clock = new ManualClock(GENESIS_TIME * 1000)
  const stored: { slot: number; blobs: readonly StoredBlob[]; head: number }[] = []
  const blobs = {
    async write(slot: number, given: readonly StoredBlob[]) {
      stored.push({ slot, blobs: given, head: execution.timestamps.length - 1 })
    },
  }
  let log = ''
  const write = (line: string) => {
    log += line
  }
  const logger = createLogger({ level: 'info', format: 'text', color: false, write })
  const engine = new L1Engine(execution, { amsterdamTime: AMSTERDAM_TIME })
  const times = { genesisTime: GENESIS_TIME, secondsPerSlot: 2, slotsPerEpoch: 2 }
  const client = new ConsensusClient({ engine, blobs, clock, logger }, times)
  /** Advances time in steps, because the client starts its next wait only after an answer. */
  const pass = async (milliseconds: number) => {
    const end = clock.now() + milliseconds
    for (await clock.advance(0); clock.now() < end; ) await clock.advance(Math.min(STEP_MS, end - clock.now()))
  }
  const stop = new AbortController()
  onTestFinished(() => stop.abort())
  return { client, execution, pass, stored, signal: stop.signal, log: () => log }
}

it('builds a block at the start of each slot, with the methods of its fork', async () => {
  const { client, execution, pass, signal } = clientInTest()
  void client.run(signal)
  await pass(9_999)
  expect(execution.timestamps).toEqual([1_000, 1_002, 1_004, 1_006, 1_008])
  const methods = execution.calls.map(({ method }) => method)
  const osaka = ['forkchoiceUpdatedV3', 'getPayloadV5', 'newPayloadV4', 'forkchoiceUpdatedV3']
  const amsterdam = ['forkchoiceUpdatedV4', 'getPayloadV6', 'newPayloadV5', 'forkchoiceUpdatedV3']
  // The last step starts one more block.
  expect(methods).toEqual([...osaka, ...osaka, ...osaka, ...amsterdam, 'forkchoiceUpdatedV4'])
  expect(execution.calls[12]?.params[1]).toMatchObject({ timestamp: toQuantity(1_008), slotNumber: '0x4' })
})

it('inserts the built payload, with the parent beacon root of its attributes', async () => {
  const { client, execution, pass, stored, signal } = clientInTest()
  execution.hasBlobs = true
  void client.run(signal)
  await pass(2_000)
  const [begun, , imported] = execution.calls
  const versionedHash = versionedHashOf(fromHex(commitment))
  const attributes = begun?.params[1]
  expect(attributes).toMatchObject({ timestamp: toQuantity(1_002), withdrawals: [] })
  const { parentBeaconBlockRoot } = Object(attributes)
  expect(imported?.params).toEqual([
    expect.objectContaining({ blockHash: hashOf(1) }),
    [versionedHash],
    parentBeaconBlockRoot,
    ['0x00'],
  ])
  // The blobs are stored before the block becomes the head.
  expect(stored).toEqual([{ slot: 1, blobs: [{ versionedHash, blob }], head: 0 }])
})

it('moves the safe and the finalized block one and two epochs behind the head', async () => {
  const { client, execution, pass, signal } = clientInTest()
  void client.run(signal)
  await pass(12_000)
  const states = execution.calls.filter(({ params }) => params[1] === null).map(({ params }) => params[0])
  const state = (head: number, safe: number, finalized: number) => ({
    headBlockHash: hashOf(head),
    safeBlockHash: hashOf(safe),
    finalizedBlockHash: hashOf(finalized),
  })
  expect(states).toEqual([
    ...[state(1, 0, 0), state(2, 0, 0), state(3, 1, 0), state(4, 2, 0), state(5, 3, 1), state(6, 4, 2)],
  ])
})

it('skips slots that it missed', async () => {
  const { client, execution, pass, signal } = clientInTest()
  await pass(7_500)
  void client.run(signal)
  await pass(600)
  expect(execution.timestamps).toEqual([1_000, 1_008])
})

it('builds no block between a pause and a resume, and finishes the block in progress', async () => {
  const { client, execution, pass, signal } = clientInTest()
  void client.run(signal)
  // Block 2 is being built, from a second before its slot.
  await pass(3_500)
  const paused = client.pause().then(() => [...execution.timestamps])
  await pass(6_000)
  expect(await paused).toEqual([1_000, 1_002, 1_004])
  expect(execution.timestamps).toEqual([1_000, 1_002, 1_004])
  client.resume()
  await pass(2_000)
  expect(execution.timestamps).toEqual([1_000, 1_002, 1_004, 1_010])
})

it('leaves the slot empty that it waits for at a pause', async () => {
  const { client, execution, pass, signal } = clientInTest()
  void client.run(signal)
  await pass(2_500)
  await client.pause()
  await pass(4_000)
  expect(execution.timestamps).toEqual([1_000, 1_002])
})

it('fills the first block until it has all transactions', async () => {
  const { client, execution, pass, signal } = clientInTest()
  execution.transactions = [0, 2, 3]
  const made = client.makeFirstBlock(3, signal)
  await pass(1_000)
  expect(await made).toMatchObject({ number: 1, hash: hashOf(1), timestamp: 1_002 })
  expect(execution.calls.filter(({ method }) => method === 'getPayloadV5')).toHaveLength(3)
  // The engine returns the same payload for equal attributes.
  const begun = execution.calls.flatMap(({ params: [, attributes] }) => Object(attributes).prevRandao ?? [])
  expect(new Set(begun).size).toBe(3)
})

it('fails the first block if its transactions do not arrive', async () => {
  const { client, pass, signal } = clientInTest()
  const made = expect(client.makeFirstBlock(3, signal)).rejects.toThrow(
    'L1 does not put the 3 transactions into its first block',
  )
  await pass(120_000)
  await made
})

it('logs once why it builds no blocks, and recovers', async () => {
  const { client, execution, pass, signal, log } = clientInTest()
  execution.status = 'SYNCING'
  void client.run(signal)
  await pass(4_000)
  expect(execution.timestamps).toEqual([1_000])
  execution.status = 'VALID'
  await pass(4_000)
  expect(execution.timestamps.length).toBeGreaterThan(1)
  const lines = log()
    .split('\n')
    .filter((line) => !line.includes('Made L1 block') && line !== '')
  expect(lines).toEqual([
    expect.stringContaining('engine_forkchoiceUpdatedV3 answers SYNCING'),
    expect.stringContaining('Making L1 blocks again'),
  ])
})
