import { describe, expect, it } from 'vitest'
import type { HealthFacts } from './facts.ts'
import { judge, VERDICT_STATES, type VerdictState, verdictText } from './verdict.ts'

const NOW = 1_700_000_000_000
const S = 1_000
const MIN = 60 * S
const STATIC = { peerID: '16Uiu2Static', connected: false, sinceMs: 0, failure: null }

const well = { state: 'up-to-date', ok: true, text: 'Every block is safe.', command: undefined } as const
const gossip: NonNullable<HealthFacts['gossip']> = {
  ...{ state: 'ok', ok: true, text: 'blocks come by gossip', connected: 5, subscribers: 5, hadPeers: true },
  staticPeers: [],
}
const active: NonNullable<HealthFacts['sequencer']> = {
  ...{ active: true, hasConductor: false, failure: undefined, publishProblem: undefined },
}

/** A verifier that has run for an hour and has just received block 183 of a chain with one block a second. */
const VERIFIER: HealthFacts = {
  ...{ nowMs: NOW, startedMs: NOW - 60 * MIN, blockTimeMs: S, l1HeadAtMs: NOW - 2 * S },
  head: { number: 183, timestampMs: NOW },
  lastBlock: { number: 183, atMs: NOW, from: 'peers' },
  ...{ blocksPerSecond: 1, sequencer: undefined, gossip, derivation: well, follows: undefined, batcher: undefined },
}
const SEQUENCER: HealthFacts = {
  ...VERIFIER,
  ...{ sequencer: active, lastBlock: { number: 183, atMs: NOW, from: 'sequencer' } },
}

/** The last block arrived `ms` ago. */
const quiet = (facts: HealthFacts, ms: number, changes: Partial<HealthFacts> = {}): HealthFacts => ({
  ...facts,
  head: { number: 183, timestampMs: NOW - ms },
  lastBlock: facts.lastBlock === undefined ? undefined : { ...facts.lastBlock, atMs: NOW - ms },
  ...changes,
})
const failing = (code: string, message: string) => ({
  sequencer: { ...active, failure: { code, message, sinceMs: NOW - MIN } },
})
const derivation = (state: HealthFacts['derivation']['state'], ok = false) => ({
  derivation: { ...well, state, ok, text: `Derivation says ${state}.` },
})
const inactive = (hasConductor: boolean) => ({ sequencer: { ...active, active: false, hasConductor } })
const stopped = { ok: false, text: 'the batcher is stopped', isStopped: true, startCommand: 'devium batcher start' }
const lonely = { gossip: { ...gossip, connected: 0, subscribers: 0 } }

const CASES: [string, VerdictState, string[], HealthFacts][] = [
  ['a sequencer', 'healthy', [], SEQUENCER],
  ['a verifier', 'healthy', [], VERIFIER],
  ['two missed blocks', 'healthy', [], quiet(SEQUENCER, 2_999)],
  ['three missed blocks of an active sequencer', 'stopped', ['sequencer-failing'], quiet(SEQUENCER, 3_000)],
  ['three missed blocks of a verifier', 'stopped', ['no-blocks'], quiet(VERIFIER, 3_000)],
  [
    'six seconds of a chain of a block in two',
    'stopped',
    ['no-blocks'],
    quiet(VERIFIER, 6_000, { blockTimeMs: 2_000 }),
  ],
  ['four of them', 'healthy', [], quiet(VERIFIER, 4_000, { blockTimeMs: 2_000 })],
  ['a clock that was set back', 'healthy', [], quiet(VERIFIER, -3_600 * S)],

  ['a sequencer that an operator stopped', 'stopped', ['sequencer-stopped'], quiet(SEQUENCER, 0, inactive(false))],
  ['long ago', 'stopped', ['sequencer-stopped'], quiet(SEQUENCER, 50 * S, inactive(false))],
  [
    'a sequencer that was never started',
    'stopped',
    ['sequencer-stopped'],
    quiet(VERIFIER, MIN, { ...inactive(false), lastBlock: undefined, startedMs: NOW - 4 * S }),
  ],
  ['a second sequencer that receives blocks', 'healthy', [], { ...VERIFIER, ...inactive(false) }],
  ['a follower of an op-conductor', 'healthy', [], { ...VERIFIER, ...inactive(true) }],
  ['one that has just handed over', 'healthy', [], { ...SEQUENCER, ...inactive(true) }],
  ['one that nobody sends blocks', 'stopped', ['no-leader'], quiet(VERIFIER, 3 * S, inactive(true))],

  [
    'the drift limit',
    'stopped',
    ['drift-limit', 'l1-stands-still'],
    quiet(SEQUENCER, 3 * MIN, { ...failing('origin-missing', 'L1 block 58 is needed'), l1HeadAtMs: NOW - 33 * MIN }),
  ],
  ['an L1 that stands still', 'degraded', ['l1-stands-still'], { ...SEQUENCER, l1HeadAtMs: NOW - 5 * MIN }],
  ['an engine that refuses', 'stopped', ['sequencer-failing'], quiet(SEQUENCER, MIN, failing('invalid-payload', 'no'))],
  ['an engine that is down', 'stopped', ['engine-down'], quiet(SEQUENCER, MIN, derivation('engine-down'))],
  ['the same of a verifier', 'stopped', ['engine-down'], quiet(VERIFIER, MIN, derivation('engine-down'))],

  ['a sequencer that has lost all peers', 'degraded', ['no-peers'], { ...SEQUENCER, ...lonely }],
  ['one that has never had any', 'healthy', [], { ...SEQUENCER, gossip: { ...lonely.gossip, hadPeers: false } }],
  [
    'one whose static peers do not come',
    'degraded',
    ['no-peers'],
    { ...SEQUENCER, gossip: { ...lonely.gossip, hadPeers: false, staticPeers: [STATIC] } },
  ],
  [
    'one that still waits for them',
    'healthy',
    [],
    {
      ...SEQUENCER,
      startedMs: NOW - 59 * S,
      gossip: { ...lonely.gossip, hadPeers: false, staticPeers: [STATIC] },
    },
  ],
  ['peers that take no blocks', 'degraded', ['no-subscriber'], { ...SEQUENCER, gossip: { ...gossip, subscribers: 0 } }],
  ['a sequencer without p2p', 'healthy', [], { ...SEQUENCER, gossip: undefined }],
  [
    'a signer that fails',
    'degraded',
    ['not-published'],
    { ...SEQUENCER, sequencer: { ...active, publishProblem: 'the signer does not answer' } },
  ],

  ['a verifier without peers', 'stopped', ['no-peers'], quiet(VERIFIER, 4 * S, lonely)],
  [
    'peers of another chain',
    'stopped',
    ['no-subscriber'],
    quiet(VERIFIER, MIN, { gossip: { ...gossip, subscribers: 0 } }),
  ],
  [
    'blocks that are refused',
    'stopped',
    ['blocks-rejected'],
    quiet(VERIFIER, MIN, { gossip: { ...gossip, state: 'blocks-rejected', ok: false, text: 'wrong signer' } }),
  ],
  [
    'blocks through L1 in the place of gossip',
    'degraded',
    ['no-mesh'],
    quiet(VERIFIER, MIN, {
      lastBlock: { number: 183, atMs: NOW - MIN, from: 'l1' },
      gossip: { ...gossip, state: 'no-mesh', ok: false, text: 'none in a mesh with this node' },
    }),
  ],
  [
    'gossip that is in trouble',
    'degraded',
    ['no-mesh'],
    { ...VERIFIER, gossip: { ...gossip, state: 'no-mesh', ok: false } },
  ],
  [
    'the first block after a standstill',
    'healthy',
    [],
    { ...VERIFIER, gossip: { ...gossip, state: 'chain-stands-still', ok: false } },
  ],
  [
    'a node that has just started',
    'degraded',
    ['starting'],
    quiet(VERIFIER, 60 * MIN, { lastBlock: undefined, startedMs: NOW - 10 * S }),
  ],
  [
    'one that started a minute ago',
    'stopped',
    ['no-blocks'],
    quiet(VERIFIER, 60 * MIN, { lastBlock: undefined, startedMs: NOW - MIN }),
  ],
  [
    'a node that is behind and gets on',
    'degraded',
    ['catching-up'],
    { ...VERIFIER, head: { number: 183, timestampMs: NOW - 60 * MIN } },
  ],
  [
    'heads that are not found yet',
    'degraded',
    ['starting'],
    { ...VERIFIER, ...derivation('starting', true), head: undefined, lastBlock: undefined, startedMs: NOW - 5 * S },
  ],
  [
    'an engine that syncs by itself',
    'degraded',
    ['engine-syncing'],
    quiet(VERIFIER, 60 * MIN, derivation('engine-syncing')),
  ],

  [
    'derivation from L1 alone, a minute after the last batch',
    'healthy',
    [],
    quiet(VERIFIER, MIN, { gossip: undefined }),
  ],
  ['ten minutes after it', 'stopped', ['no-batches'], quiet(VERIFIER, 10 * MIN, { gossip: undefined })],
  [
    'derivation from L1 alone that is catching up',
    'degraded',
    ['catching-up'],
    quiet(VERIFIER, MIN, { gossip: undefined, ...derivation('catching-up', true) }),
  ],

  [
    'a node that only derives, and lacks a blob',
    'stopped',
    ['waiting-for-blobs', 'no-peers'],
    quiet(VERIFIER, 60 * MIN, { lastBlock: undefined, ...lonely, ...derivation('waiting-for-blobs') }),
  ],
  [
    'one that had blocks by gossip',
    'stopped',
    ['no-peers', 'waiting-for-blobs'],
    quiet(VERIFIER, MIN, { ...lonely, ...derivation('waiting-for-blobs') }),
  ],
  ['derivation in trouble', 'degraded', ['waiting-for-blobs'], { ...VERIFIER, ...derivation('waiting-for-blobs') }],
  ['a batch submitter that is stopped', 'degraded', ['batcher-stopped'], { ...SEQUENCER, batcher: stopped }],
  [
    'one for which the safe head waits',
    'degraded',
    ['batcher-stopped'],
    { ...SEQUENCER, batcher: stopped, ...derivation('batcher-stopped') },
  ],
  [
    'a batch submitter without funds',
    'degraded',
    ['batch-submitter'],
    { ...SEQUENCER, batcher: { ...stopped, isStopped: false, text: 'no funds' } },
  ],
  [
    'everything at once',
    'stopped',
    ['sequencer-stopped', 'batcher-stopped'],
    quiet(SEQUENCER, MIN, { ...inactive(false), batcher: stopped, ...lonely, ...derivation('batcher-stopped') }),
  ],
]

describe('judge', () => {
  it.each(CASES)('%s: %s, for %j', (_name, state, codes, facts) => {
    const verdict = judge(facts)
    expect(verdict.state).toBe(state)
    expect(verdict.causes.map(({ code }) => code)).toEqual(codes)
    for (const { text } of verdict.causes) expect(text).toMatch(/[a-z]/)
  })

  it('never calls a node healthy that has had no block for three block times, whatever else is so', () => {
    for (const [, , , facts] of CASES) {
      // Blocks that come only from L1 arrive in batches.
      if (facts.gossip === undefined) continue
      for (const ms of [3 * facts.blockTimeMs, MIN, 60 * MIN]) {
        expect(judge(quiet(facts, ms)).state).not.toBe('healthy')
      }
    }
  })

  it('names what ends it, and since when', () => {
    const [first] = judge(quiet(SEQUENCER, 50 * S, inactive(false))).causes
    expect(first).toEqual({
      code: 'sequencer-stopped',
      text: 'An operator has stopped the sequencer. There has been no block for 50 s, since block 183.',
      ...{ command: 'devium sequencer start', sinceMs: NOW - 50 * S, stops: true, hurtsOthersOnly: false },
    })
    const commands = (facts: HealthFacts) => judge(facts).causes.map(({ command }) => command)
    expect(commands({ ...SEQUENCER, batcher: stopped })).toEqual(['devium batcher start'])
    const broke = { ...stopped, isStopped: false }
    const why = (text: string) => judge({ ...SEQUENCER, batcher: { ...broke, text } }).causes[0]?.text
    expect(why('no funds')).toBe('The batch submitter reports a problem: no funds.')
    expect(why('the batch submitter at http://b does not answer')).toMatch(/^The batch submitter at http/)
    const statics = { gossip: { ...lonely.gossip, staticPeers: [STATIC] } }
    expect(commands(quiet(VERIFIER, MIN, statics))).toEqual(['devium p2p check 16Uiu2Static'])
  })

  it('has a case for each state', () => {
    expect(new Set(CASES.map(([, state]) => state))).toEqual(new Set(VERDICT_STATES))
  })
})

describe('verdictText', () => {
  const text = (facts: HealthFacts, name = 'sequencer') => verdictText(name, judge(facts), facts)
  it.each<[string, string]>([
    [text(SEQUENCER), 'Sequencer is healthy. It sealed block 183 and gossips to 5 peers.'],
    [text(VERIFIER, 'verifier'), 'Verifier is healthy. It received block 183 and has 5 peers.'],
    [
      text({ ...VERIFIER, ...inactive(true) }),
      'Sequencer is healthy. It received block 183 and has 5 peers. Its own sequencer is not active.',
    ],
    [
      text({ ...VERIFIER, gossip: undefined, lastBlock: { number: 183, atMs: NOW, from: 'l1' } }, 'verifier'),
      'Verifier is healthy. It derived block 183 and runs without peers.',
    ],
    [
      text(
        quiet(SEQUENCER, 3 * MIN, { ...failing('origin-missing', 'L1 block 58 is needed'), l1HeadAtMs: NOW - 4 * MIN }),
      ),
      'Sequencer is stopped. The sequencer has sealed no block for 3 min, since block 183. It is at the sequencer drift limit: L1 block 58 is needed. The last L1 block came 4 min ago.',
    ],
    [
      text(quiet(VERIFIER, 53 * S), 'verifier1'),
      'Verifier1 is stopped. No block has come for 53 s, since block 183. 5 peers are connected, so the sequencer is stopped or disconnected from them.',
    ],
    [
      text({ ...VERIFIER, head: { number: 183, timestampMs: NOW - 60 * MIN } }, 'verifier'),
      'Verifier is degraded. The unsafe head, block 183, is 3600 blocks behind the clock. It grows by 1 block/s.',
    ],
    [
      text({ ...VERIFIER, blocksPerSecond: 41, head: { number: 183, timestampMs: NOW - 60 * MIN } }, 'verifier'),
      'Verifier is degraded. The unsafe head, block 183, is 3600 blocks behind the clock. It grows by 41 blocks/s and will catch up in 90 s.',
    ],
  ])('%s', (given, expected) => {
    expect(given).toBe(expected)
  })
})
