import { describe, expect, it } from 'vitest'
import { DeviumError } from '../../lib/errors.ts'
import { toHex } from '../../lib/hex.ts'
import { DerivationError } from '../derive/index.ts'
import { EngineError } from '../engine/index.ts'
import type { L1BlockRef, L2BlockRef } from '../protocol/types.ts'
import { DerivationRecorder } from './derivationRecorder.ts'
import { DERIVATION_STATES, type DerivationFacts, type DerivationState } from './derivationStates.ts'
import { derivationStatus } from './derivationStatus.ts'
import { STARTING } from './explainDerivation.ts'

const NOW = 1_000_000_000
const MIN = 60_000

/** A clock that a test can set, also back. */
interface SetClock {
  now(): number
  set(nowMs: number): void
}

function clockAt(startMs: number): SetClock {
  let nowMs = startMs
  return {
    now: () => nowMs,
    set(next) {
      nowMs = next
    },
  }
}

function l1(number: number): L1BlockRef {
  return { hash: `0x${'11'.repeat(32)}`, number, parentHash: `0x${'10'.repeat(32)}`, timestamp: number * 12 }
}

function l2(number: number, origin: number): L2BlockRef {
  return {
    ...l1(number),
    hash: `0x${'22'.repeat(32)}`,
    l1Origin: { hash: l1(origin).hash, number: origin },
    sequenceNumber: 0,
  }
}

const channel = (frames: number, expectedFrames?: number) => ({
  ...{
    id: toHex(new Uint8Array(16).fill(0xab)),
    openBlock: 480,
    lastBlock: 530,
    frames,
    bytes: 120_000,
    expectedFrames,
  },
})

/** A node that has read all of L1, with ten unsafe blocks and a batch three minutes ago. */
function facts(
  change: Partial<DerivationFacts> = {},
  happened: (recorder: DerivationRecorder, clock: SetClock) => void = () => {},
) {
  const clock = clockAt(NOW - 30 * MIN)
  const recorder = new DerivationRecorder({ clock })
  recorder.resetRequested(STARTING)
  recorder.resetDone()
  clock.set(NOW - 3 * MIN)
  recorder.listen({ kind: 'batch-read', l1Block: 490, type: 'span' })
  recorder.stepped(true)
  happened(recorder, clock)
  const all: DerivationFacts = {
    nowMs: NOW,
    l1Head: l1(500),
    l1HeadAtMs: NOW - 5_000,
    l1HeadProblem: undefined,
    currentL1: l1(500),
    confirmations: 0,
    safe: l2(1000, 480),
    safeMovedAtMs: NOW - 3 * MIN,
    unsafe: l2(1010, 499),
    l1Endpoint: { url: 'http://l1', answeredAtMs: NOW - 1000, silentSinceMs: undefined, failures: 0 },
    engineEndpoint: { url: 'http://engine', answeredAtMs: NOW - 1000, silentSinceMs: undefined, failures: 0 },
    engineIsSyncing: false,
    blobs: undefined,
    follows: undefined,
    record: recorder.record(),
    forks: { active: 'karst', next: undefined },
    config: { seqWindowSize: 3600, blockTime: 2, forks: {} },
    ...change,
  }
  return all
}

const silent = (url: string, forMs: number) => ({
  url,
  answeredAtMs: NOW - forMs,
  silentSinceMs: NOW - forMs,
  failures: 7,
})
const blobs = {
  ...{ l1Block: { number: 500, hash: l1(500).hash }, slot: 99, versionedHashes: [l1(1).hash, l1(2).hash], tries: 4 },
  sinceMs: NOW - 4 * MIN,
  answers: [
    { url: 'http://b1', problem: '404 not found' },
    { url: 'http://b2', problem: 'no answer' },
  ],
}
const missed = {
  kind: 'batch-dropped',
  l1Block: 495,
  type: 'span',
  reason: 'parent hash is not the hash of the safe head',
  losesChannel: true,
} as const

const stoppedBatcher = { ok: false, text: 'it is stopped', isStopped: true, startCommand: 'devium batcher start' }

const CASES: [DerivationState, string, DerivationFacts, string][] = [
  [
    'following',
    'the head of another node',
    facts({ follows: 'http://other' }),
    'This node follows http://other and derives nothing. The safe head is 1000 (0x2222…2222), derived there up to L1 block 500.',
  ],
  [
    'failing',
    'another node that cannot be followed',
    facts({ follows: 'http://other' }, (recorder) => recorder.failed(new DeviumError('gone', 'it did not answer'))),
    'The node has not been able to follow http://other for 3 min: it did not answer.',
  ],
  [
    'l1-down',
    'L1 that does not answer',
    facts({ l1Endpoint: silent('http://l1', 90_000) }),
    'The safe head is waiting for L1: http://l1 has answered no call for 90 s. The last known L1 block is 500.',
  ],
  [
    'l1-unreadable',
    'L1 whose blocks this version cannot check',
    facts({ l1HeadProblem: { message: 'L1 block 501 has fields that nobody knows', sinceMs: NOW - 90_000 } }),
    'The safe head is waiting for L1. The L1 head has been unreadable for 90 s: L1 block 501 has fields that nobody knows.',
  ],
  [
    'waiting-for-blobs',
    'blobs that nobody gives',
    facts({ blobs }, (recorder) => recorder.failed(new DeviumError('blobs-missing', 'two are missing'))),
    'The safe head is waiting for 2 blobs of L1 block 500, which http://b1 (404 not found) and http://b2 (no answer) have not returned for 4 min.',
  ],
  [
    'waiting-for-blobs',
    'blobs that are on their way',
    facts({ blobs: { ...blobs, answers: [], versionedHashes: [l1(1).hash] } }),
    'The safe head is waiting for 1 blob of L1 block 500. The request has been running for 4 min.',
  ],
  [
    'engine-down',
    'an engine that does not answer',
    facts({ engineEndpoint: silent('http://engine', 20_000) }),
    'The safe head is waiting for the execution client: http://engine has answered no call for 20 s.',
  ],
  [
    'engine-syncing',
    'an engine that syncs',
    facts({}, (recorder, clock) => {
      clock.set(NOW - 10 * MIN)
      recorder.failed(new EngineError('engine-syncing', 'engine answers SYNCING to block 1001'))
    }),
    'The safe head is waiting for the execution client, which has been syncing for 10 min: engine answers SYNCING to block 1001.',
  ],
  [
    'engine-syncing',
    'an engine that syncs by itself',
    facts({ engineIsSyncing: true, currentL1: undefined }),
    'Derivation starts after the execution client has synced. It has been syncing over its own network for 30 min, so far to block 1010.',
  ],
  [
    'resetting',
    'a reset with its reason',
    facts({ currentL1: undefined }, (recorder) => recorder.resetRequested('detected L1 reorg: block 499')),
    'Derivation has been resetting for 3 min, because detected L1 reorg: block 499.',
  ],
  [
    'fork-unknown',
    'a fork that this version does not know',
    facts({ config: { seqWindowSize: 3600, blockTime: 2, forks: {}, unknownForks: [{ name: 'mars', time: 12_002 }] } }),
    'The safe head stays at 1000 (0x2222…2222): the next block belongs to the fork mars (1970-01-01 03:20:02 UTC), which this version does not know.',
  ],
  [
    'upgrade-bundle-missing',
    'the activation block of Lagoon without its bundle',
    facts({ config: { seqWindowSize: 3600, blockTime: 2, forks: { lagoon: 12_002 } } }),
    "The safe head stays at 1000 (0x2222…2222): Lagoon's activation block needs the published upgrade bundle: pass it with --rollup.upgrade-bundle, or read it from a node that has the block with `devium bundle from-block`.",
  ],
  [
    'failing',
    'a step that fails for another reason',
    facts({}, (recorder, clock) => {
      clock.set(NOW - 2 * MIN)
      for (let i = 0; i < 3; i++)
        recorder.failed(new DerivationError('l2-block-missing', 'temporary', 'block 999 is not there'))
    }),
    'The safe head does not move because a derivation step has failed 3 times in 2 min: block 999 is not there.',
  ],
  [
    'catching-up',
    'L1 that is not read yet',
    facts({ currentL1: l1(200), confirmations: 4 }, (recorder) => recorder.stepped(false)),
    'Derivation is catching up. It reads L1 block 200 of 496, 296 blocks behind. The safe head is 1000 (0x2222…2222).',
  ],
  [
    'window-expired',
    'empty blocks in the place of missing ones',
    facts({}, (recorder, clock) => {
      clock.set(NOW - 1000)
      for (let i = 0; i < 12; i++) recorder.listen({ kind: 'empty-batch', l1Block: 500, timestamp: 5 })
    }),
    'The sequencing window has passed without a batch, so derivation creates empty blocks: 12 so far, the last at L1 block 500. The last batch came 3 min ago with L1 block 490.',
  ],
  [
    'batches-dropped',
    'batches that break a rule',
    facts({}, (recorder, clock) => {
      clock.set(NOW - MIN)
      recorder.listen(missed)
    }),
    'The safe head does not move because the last span batch, read at L1 block 495, was dropped with the rest of its channel: parent hash is not the hash of the safe head.',
  ],
  [
    'window-expiring',
    'a window that is about to end',
    facts({ config: { seqWindowSize: 21, blockTime: 2, forks: {} } }),
    'The sequencing window of L2 block 1001 ends in 1 L1 block, at block 501. Without a batch by then, empty blocks replace the unsafe blocks.',
  ],
  [
    'batcher-stopped',
    'a batch submitter that says that it is stopped',
    facts({ batcher: stoppedBatcher }),
    'The safe head is waiting because the batch submitter is stopped. Derivation has read L1 up to block 500. The last batch came 3 min ago with L1 block 490. 10 blocks are not safe yet.',
  ],
  [
    'waiting-for-channel',
    'a channel of which a part is there',
    facts({}, (recorder) => recorder.listen({ kind: 'frame-added', l1Block: 482, channel: channel(2, 3), frame: 1 })),
    'The safe head is waiting for the rest of channel 0xabab…abab. 2 of 3 frames have arrived (120000 bytes) since L1 block 480. The channel times out in 30 L1 blocks. The last batch came 3 min ago with L1 block 490.',
  ],
  [
    'no-batches',
    'a batcher that is silent',
    facts({ nowMs: NOW + 60 * MIN }),
    'No batch has come for 63 min. Derivation has read L1 up to block 500. The last batch came 63 min ago with L1 block 490. 10 blocks are not safe yet.',
  ],
  [
    'waiting-for-batches',
    'a batcher that posts now and then, with confirmations',
    facts({ confirmations: 4, currentL1: l1(496) }),
    'The safe head is waiting for the next batch. Derivation has read L1 up to block 496 of 500 and waits for 4 confirmations. The last batch came 3 min ago with L1 block 490. 10 blocks are not safe yet.',
  ],
  [
    'up-to-date',
    'nothing that is not safe',
    facts({ unsafe: l2(1000, 480) }),
    'All known blocks are safe. The safe head is 1000 (0x2222…2222).',
  ],
]

describe('derivationStatus', () => {
  it.each(CASES)('%s: %s', (state, _name, given, text) => {
    expect(derivationStatus(given)).toMatchObject({ state, text })
  })

  it('starts by finding heads', () => {
    const clock = clockAt(NOW)
    const recorder = new DerivationRecorder({ clock })
    recorder.resetRequested(STARTING)
    const unknown = { currentL1: undefined, safe: undefined, unsafe: undefined, safeMovedAtMs: undefined }
    const status = derivationStatus(facts({ ...unknown, record: recorder.record() }))
    expect(status).toMatchObject({
      state: 'starting',
      ok: true,
      text: 'The node is looking for the heads to start from.',
    })
    recorder.failed(new Error('no such block'))
    const failing = derivationStatus(facts({ ...unknown, record: recorder.record() }))
    expect(failing.text).toBe('The node is looking for the heads to start from. The last try failed: no such block.')
  })

  it('has a case for every state', () => {
    expect(new Set([...CASES.map(([state]) => state), 'starting'])).toEqual(new Set(DERIVATION_STATES))
  })

  it('says of which states somebody should know', () => {
    const bad = CASES.filter(([, , given]) => !derivationStatus(given).ok).map(([state]) => state)
    expect(bad).toEqual([
      ...[
        'failing',
        'l1-down',
        'l1-unreadable',
        'waiting-for-blobs',
        'waiting-for-blobs',
        'engine-down',
        'engine-syncing',
        'engine-syncing',
        'resetting',
        'fork-unknown',
        'upgrade-bundle-missing',
        'failing',
      ],
      ...['window-expired', 'batches-dropped', 'window-expiring', 'batcher-stopped', 'no-batches'],
    ])
  })

  it('names the command that starts a stopped batch submitter, and nothing where all blocks are safe', () => {
    expect(derivationStatus(facts({ batcher: stoppedBatcher }))).toMatchObject({ command: 'devium batcher start' })
    expect(derivationStatus(facts({ batcher: { ...stoppedBatcher, isStopped: false } })).state).toBe(
      'waiting-for-batches',
    )
    expect(derivationStatus(facts({ batcher: stoppedBatcher, unsafe: l2(1000, 480) }))).toMatchObject({
      state: 'up-to-date',
      command: undefined,
    })
  })

  it('names a cause before what follows from it', () => {
    const all = facts({
      blobs,
      l1Endpoint: silent('http://l1', 90_000),
      engineEndpoint: silent('http://engine', 90_000),
    })
    expect(derivationStatus(all).state).toBe('l1-down')
    expect(derivationStatus({ ...all, l1Endpoint: undefined }).state).toBe('waiting-for-blobs')
  })

  it('takes blobs for missing when their request has ended, or should have', () => {
    const underWay = facts({ blobs: { ...blobs, answers: [] } })
    const since = (ms: number) => facts({ blobs: { ...blobs, answers: [], sinceMs: underWay.nowMs - ms } })
    expect(derivationStatus(since(29_999)).state).not.toBe('waiting-for-blobs')
    expect(derivationStatus(since(30_000)).state).toBe('waiting-for-blobs')
  })

  it('takes a call that was lost for no outage', () => {
    expect(derivationStatus(facts({ l1Endpoint: silent('http://l1', 3_000) })).state).toBe('waiting-for-batches')
  })

  it('forgets a drop when the chain has gone on', () => {
    const dropped = (recorder: DerivationRecorder, clock: SetClock) => {
      clock.set(NOW - 5 * MIN)
      recorder.listen(missed)
    }
    expect(derivationStatus(facts({}, dropped)).state).toBe('waiting-for-batches')
    expect(derivationStatus(facts({ safeMovedAtMs: NOW - 6 * MIN }, dropped)).state).toBe('batches-dropped')
    const later = derivationStatus(
      facts({ safeMovedAtMs: NOW - 6 * MIN }, (recorder, clock) => {
        dropped(recorder, clock)
        recorder.listen({ kind: 'batch-read', l1Block: 499, type: 'span' })
      }),
    )
    expect(later.state).toBe('waiting-for-batches')
  })
})

describe('DerivationRecorder', () => {
  const recorded = () => {
    const clock = clockAt(NOW)
    return { clock, recorder: new DerivationRecorder({ clock }) }
  }

  it('knows which channels are open', () => {
    const { recorder } = recorded()
    recorder.listen({ kind: 'frame-added', l1Block: 480, channel: channel(1), frame: 0 })
    recorder.listen({ kind: 'frame-added', l1Block: 481, channel: channel(2, 3), frame: 2 })
    expect(recorder.record().channels).toEqual([channel(2, 3)])
    recorder.listen({ kind: 'channel-gone', l1Block: 531, channel: channel(1).id, how: 'timed-out' })
    expect(recorder.record()).toMatchObject({
      channels: [],
      lostData: [{ what: 'channel', l1Block: 531, reason: 'timed out before all of its frames arrived' }],
    })
    recorder.listen({ kind: 'frame-added', l1Block: 480, channel: channel(1), frame: 0 })
    recorder.listen({ kind: 'started', l1Block: 400 })
    expect(recorder.record().channels).toEqual([])
  })

  it('keeps no more than the last of each kind', () => {
    const { recorder } = recorded()
    for (let i = 0; i < 1000; i++) {
      recorder.listen({ ...missed, l1Block: i })
      recorder.listen({
        kind: 'frame-ignored',
        l1Block: i,
        channel: '0xab',
        frame: i,
        reason: 'x',
      })
      recorder.listen({ kind: 'frame-added', l1Block: i, channel: { ...channel(1), id: `0x${i}` }, frame: 0 })
    }
    const { droppedBatches, lostData, channels } = recorder.record()
    expect([droppedBatches.length, lostData.length, channels.length]).toEqual([20, 20, 100])
    expect(droppedBatches.at(-1)?.l1Block).toBe(999)
  })

  it('counts failures of one kind together until one passes', () => {
    const { recorder, clock } = recorded()
    recorder.failed(new EngineError('engine-call', 'a'))
    clock.set(NOW + 5_000)
    recorder.failed(new EngineError('engine-call', 'b'))
    expect(recorder.record().failure).toMatchObject({
      count: 2,
      message: 'b',
      sinceMs: NOW,
      atMs: NOW + 5_000,
      severity: 'temporary',
    })
    recorder.failed(new EngineError('engine-syncing', 'c'))
    expect(recorder.record().failure).toMatchObject({ count: 1, sinceMs: NOW + 5_000 })
    recorder.recovered()
    expect(recorder.record().failure).toBeUndefined()
  })

  it('keeps the reason of the first request for a reset', () => {
    const { recorder } = recorded()
    recorder.resetRequested('one')
    recorder.resetRequested('two')
    expect(recorder.record().lastReset).toEqual({ reason: 'one', atMs: NOW, doneAtMs: undefined })
    recorder.resetDone()
    recorder.resetRequested('three')
    expect(recorder.record().lastReset?.reason).toBe('three')
  })
})
