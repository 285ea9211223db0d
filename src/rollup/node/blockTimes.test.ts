import { expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import type { Hex } from '../../lib/hex.ts'
import { type L2BlockRef, type PayloadEnvelope, ZERO_L2_REF } from '../protocol/types.ts'
import { BlockTimesRecorder } from './blockTimes.ts'

const hashOf = (number: number, branch = 0): Hex => `0x${(number * 16 + branch).toString(16).padStart(64, '0')}`
const ref = (number: number, branch = 0): L2BlockRef => ({
  ...ZERO_L2_REF,
  ...{ number, hash: hashOf(number, branch), timestamp: 1_000 + number },
})
/** The parts of an envelope that the recorder reads. */
const envelope = (number: number): PayloadEnvelope =>
  ({
    payload: {
      ...{ blockNumber: number, blockHash: hashOf(number), timestamp: 1_000 + number },
      ...{ gasUsed: 50_000n, transactions: [new Uint8Array()] },
    },
  }) as PayloadEnvelope

function started() {
  const clock = new ManualClock(5_000)
  const recorder = new BlockTimesRecorder({ clock })
  const heads = { unsafe: ref(10), safe: ref(8), finalized: ref(4) }
  recorder.moved(heads, 'reset')
  return { clock, recorder, heads }
}

it('records when a block was received, executed, safe and finalized', async () => {
  const { clock, recorder, heads } = started()
  recorder.came(envelope(11), 'peer', 'gossip')
  await clock.advance(20)
  recorder.came(envelope(11), 'another', 'request')
  recorder.moved({ ...heads, unsafe: ref(11) }, 'payload')
  await clock.advance(1_000)
  recorder.moved({ ...heads, unsafe: ref(11), safe: ref(11) }, 'derivation', { number: 4, hash: hashOf(4) })
  await clock.advance(1_000)
  recorder.moved({ unsafe: ref(11), safe: ref(11), finalized: ref(11) }, 'derivation')
  expect(recorder.recent).toEqual([
    {
      ...{ number: 11, hash: hashOf(11), timestamp: 1_011, gasUsed: 50_000, transactions: 1 },
      signedAtMs: undefined,
      ...{ came: { atMs: 5_000, from: 'peer', way: 'gossip' }, executedAtMs: 5_020, executedBy: 'payload' },
      ...{ safeAtMs: 6_020, safeBy: { number: 4, hash: hashOf(4) }, finalizedAtMs: 7_020 },
    },
  ])
})

it('forgets blocks replaced by a reorg, and keeps a limited number', () => {
  const { recorder, heads } = started()
  for (const number of [11, 12, 13]) recorder.moved({ ...heads, unsafe: ref(number) }, 'payload')
  recorder.moved({ ...heads, unsafe: ref(12, 1) }, 'derivation')
  expect(recorder.recent.map(({ hash }) => hash)).toEqual([hashOf(12, 1), hashOf(11)])
  for (let number = 13; number < 200; number++) {
    recorder.signed(envelope(number))
    recorder.moved({ ...heads, unsafe: ref(number) }, 'sequencer')
  }
  const { recent } = recorder
  expect(recent).toHaveLength(64)
  expect(recent[0]).toMatchObject({ number: 199, signedAtMs: 5_000, executedBy: 'sequencer' })
})
