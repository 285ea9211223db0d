import { describe, expect, it } from 'vitest'
import type { DerivationStatus } from '../rollup/node/api.ts'
import { derivationStatusToJson } from './derivationJson.ts'
import { healthToJson } from './nodeHealth.ts'
import { hash, recorder } from './testUtils/recorder.ts'

const STATUS = recorder().node.derivationStatus()
const json = (changes: Partial<DerivationStatus>) => derivationStatusToJson({ ...STATUS, ...changes })

describe('the status of derivation as JSON', () => {
  it('has null for unknown values', () => {
    const unknown = {
      l1Head: undefined,
      currentL1: undefined,
      safe: undefined,
      unsafe: undefined,
      l1Endpoint: undefined,
    }
    expect(json({ ...unknown, command: undefined, windowEndsAt: undefined, l1HeadAtMs: undefined })).toMatchObject({
      command: null,
      l1: { head: null, headSeenAtMs: null, derivedTo: null, endpoint: null },
      l2: { safe: null, safeMovedAtMs: null, unsafe: null, windowEndsAtL1Block: null },
      ...{ gap: null, follows: null, blobs: null, lastBatch: null, emptyBatches: null, failure: null, reset: null },
    })
  })

  it('has known values', () => {
    expect(json({ command: 'devium x', safeMovedAtMs: 5, windowEndsAt: 7, follows: 'http://other' })).toMatchObject({
      ...{ command: 'devium x', follows: 'http://other' },
      l1: { head: { number: 2 }, derivedTo: { number: 1 }, endpoint: { answeredAtMs: 9_000, silentSinceMs: null } },
      l2: { safe: { number: 6 }, unsafe: { number: 6 }, safeMovedAtMs: 5, windowEndsAtL1Block: 7 },
    })
  })

  it('names the next fork, and why the node is not ready for it', () => {
    expect(json({}).forks).toEqual({ active: 'karst', next: null })
    const next = { name: 'lagoon', time: 9, isReady: undefined, problem: undefined }
    expect(json({ forks: { active: 'karst', next } }).forks.next).toEqual({
      ...{ name: 'lagoon', time: 9, ready: null, problem: null },
    })
    const notReady = { ...next, isReady: false, problem: 'It needs a file' }
    expect(json({ forks: { active: 'karst', next: notReady } }).forks.next).toEqual({
      ...{ name: 'lagoon', time: 9, ready: false, problem: 'It needs a file.' },
    })
  })

  it.each([
    { last: 4, asks: 'peers' as const, text: /^L2 block 4 has been missing for .*from peers by number/ },
    { last: 9, asks: 'engine' as const, text: /^L2 blocks 4 to 9 have been missing for .*No connected peer/ },
  ])('names the missing blocks, and their source: $asks', ({ last, asks, text }) => {
    const unsafeGap = { first: 4, last, sinceMs: 1_000, asks }
    expect(json({ unsafeGap }).gap).toEqual({ ...unsafeGap, text: expect.stringMatching(text) })
  })

  it('counts the L1 blocks that a channel has left, down to none', () => {
    const channel = { id: hash('a'), openBlock: 1, lastBlock: 5, frames: 1, bytes: 9, expectedFrames: undefined }
    const left = (number: number | undefined) => {
      const currentL1 =
        number === undefined || STATUS.currentL1 === undefined ? undefined : { ...STATUS.currentL1, number }
      return json({ currentL1, record: { ...STATUS.record, channels: [channel] } }).channels[0]
    }
    expect([3, 5, 8, undefined].map((number) => left(number)?.l1BlocksLeft)).toEqual([2, 0, 0, null])
    expect(left(3)).toMatchObject({ expectedFrames: null, frames: 1 })
  })
})

it('health as JSON is in order when the state is healthy, with null for a node without peers', async () => {
  const health = await recorder().node.health()
  expect(healthToJson(health)).toMatchObject({
    state: 'degraded',
    ok: false,
    causes: [{ code: 'no-peers', sinceMs: null }],
  })
  const { gossip: _, ...rest } = health
  expect(healthToJson({ ...rest, state: 'healthy', gossip: undefined })).toMatchObject({ ok: true, gossip: null })
  const gossip = { state: 'ok' as const, ok: true, text: 'It is.' }
  expect(healthToJson({ ...health, gossip: { ...health.gossip, ...gossip } }).gossip).toEqual(gossip)
})
