import { describe, expect, it } from 'vitest'
import { L1Error } from '../../l1/index.ts'
import type { Hex } from '../../lib/hex.ts'
import { silentLogger } from '../../lib/logger.ts'
import { encodeBlob } from '../protocol/index.ts'
import type { Fork, L1Transaction } from '../protocol/types.ts'
import { batcherDataOf } from './batcherTransactions.ts'
import type { DerivationEvent } from './events.ts'
import { L1Retrieval } from './l1Retrieval.ts'
import { BATCHER, fakeHash, INBOX, l1Ref, testConfig } from './testUtils/config.ts'
import { drain } from './testUtils/stages.ts'
import type { BlobSource } from './types.ts'

const OTHER: Hex = `0x${'0e'.repeat(20)}`

function transaction(change: Partial<L1Transaction> = {}): L1Transaction {
  return { hash: fakeHash('tx', 1), type: 2, from: BATCHER, to: INBOX, input: Uint8Array.of(0, 1), ...change }
}

const blobTransaction = transaction({ type: 3, blobVersionedHashes: [fakeHash('blob', 1), fakeHash('blob', 2)] })

describe('batcher transactions', () => {
  it.each([
    { id: 'legacy', change: { type: 0 }, counts: true },
    { id: 'access list', change: { type: 1 }, counts: true },
    { id: 'dynamic fee', change: { type: 2 }, counts: true },
    { id: 'deposit (L1 is an OP Stack chain)', change: { type: 0x7e }, counts: true },
    { id: 'set code', change: { type: 4 }, counts: false },
    { id: 'to another address', change: { to: OTHER }, counts: false },
    { id: 'contract creation', change: { to: null }, counts: false },
    { id: 'from another sender', change: { from: OTHER }, counts: false },
  ])('$id: counts $counts', ({ change, counts }) => {
    const context = { config: testConfig('granite'), batcherAddress: BATCHER, l1Time: l1Ref(1).timestamp }
    const found = batcherDataOf([transaction(change)], context)
    expect(found).toEqual(counts ? [{ kind: 'calldata', data: Uint8Array.of(0, 1) }] : [])
  })

  it('recovers senders only for transactions to the batch inbox', () => {
    let requests = 0
    const counting = (to: Hex): L1Transaction => ({
      ...transaction({ to }),
      get from() {
        requests++
        return BATCHER
      },
    })
    const context = { config: testConfig('granite'), batcherAddress: BATCHER, l1Time: 0 }
    batcherDataOf([counting(OTHER), counting(INBOX), counting(OTHER)], context)
    expect(requests).toBe(1)
  })
})

function retrieval(fork: Fork, transactions: L1Transaction[] | Error, blobs?: BlobSource) {
  const config = testConfig(fork)
  const prev = { origin: l1Ref(1), systemConfig: config.genesis.systemConfig }
  let fetched = 0
  const l1 = {
    async transactions(hash: Hex) {
      fetched++
      if (transactions instanceof Error) throw transactions
      return { info: { ...l1Ref(1), hash, mixHash: hash, baseFeePerGas: 1n }, transactions }
    },
  }
  const emitted: DerivationEvent[] = []
  const emit = (event: DerivationEvent) => void emitted.push(event)
  const stage = new L1Retrieval({ prev, l1, blobs, logger: silentLogger, emit }, config)
  return { stage, prev, emitted, fetched: () => fetched }
}

describe('L1 retrieval', () => {
  it('returns the data in order, and reads each L1 block once', async () => {
    const all = [1, 2, 3].map((byte) => transaction({ input: Uint8Array.of(byte) }))
    const { stage, prev, fetched } = retrieval('granite', all)
    expect((await drain(stage)).map(([byte]) => byte)).toEqual([1, 2, 3])
    expect(await drain(stage)).toEqual([])
    expect(fetched()).toBe(1)
    prev.origin = l1Ref(2)
    expect(await drain(stage)).toHaveLength(3)
  })

  it('follows the batcher address of the SystemConfig', async () => {
    const { stage, prev } = retrieval('granite', [transaction({ from: OTHER })])
    expect(await drain(stage)).toEqual([])
    prev.origin = l1Ref(2)
    prev.systemConfig = { ...prev.systemConfig, batcherAddress: OTHER }
    expect(await drain(stage)).toHaveLength(1)
  })

  it('reads calldata of blob transactions before Ecotone, and blobs since Ecotone', async () => {
    expect(await drain(retrieval('canyon', [blobTransaction]).stage)).toEqual([Uint8Array.of(0, 1)])
    const blobs: BlobSource = {
      blobs: async (_, hashes) => hashes.map((hash) => encodeBlob(Uint8Array.of(hash === fakeHash('blob', 1) ? 1 : 2))),
    }
    const { stage } = retrieval('ecotone', [transaction({ input: Uint8Array.of(9) }), blobTransaction], blobs)
    expect(await drain(stage)).toEqual([Uint8Array.of(9), Uint8Array.of(1), Uint8Array.of(2)])
  })

  it('skips only a malformed blob', async () => {
    const blobs: BlobSource = {
      blobs: async () => [new Uint8Array(131_072).fill(0xff), encodeBlob(Uint8Array.of(7))],
    }
    const { stage, emitted } = retrieval('ecotone', [blobTransaction], blobs)
    expect(await drain(stage)).toEqual([Uint8Array.of(7)])
    expect(emitted).toEqual([{ kind: 'data-ignored', l1Block: 1, what: 'blob', reason: expect.any(String) }])
  })

  it("fails at the batcher's blobs without a beacon API, and ignores other blobs", async () => {
    const mine = retrieval('granite', [blobTransaction]).stage
    await expect(mine.next()).rejects.toMatchObject({ code: 'blobs-unavailable', severity: 'critical' })
    const foreign = retrieval('granite', [{ ...blobTransaction, from: OTHER }]).stage
    expect(await drain(foreign)).toEqual([])
  })

  it('requires a reset when blobs or the L1 block are missing', async () => {
    const noBlobs = retrieval('granite', [blobTransaction], { blobs: async () => undefined }).stage
    await expect(noBlobs.next()).rejects.toMatchObject({ code: 'l1-reorg', severity: 'reset' })
    const noBlock = retrieval('granite', new L1Error('l1-not-found', 'gone')).stage
    const cause = { code: 'l1-not-found' }
    await expect(noBlock.next()).rejects.toMatchObject({ code: 'l1-reorg', severity: 'reset', cause })
  })

  it('passes other failures on, and reads the block again', async () => {
    const { stage, fetched } = retrieval('granite', new L1Error('l1-bad-answer', 'lies'))
    await expect(stage.next()).rejects.toMatchObject({ code: 'l1-bad-answer' })
    await expect(stage.next()).rejects.toMatchObject({ code: 'l1-bad-answer' })
    expect(fetched()).toBe(2)
  })
})
