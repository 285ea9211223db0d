import { expect, it } from 'vitest'
import type { PeerEvent } from '../base/schemas.ts'
import { latestCauses } from './latestCauses.ts'

const event = (kind: PeerEvent['kind'], reason: string, atMs: number, more: Partial<PeerEvent> = {}): PeerEvent => ({
  ...{ kind, reason, count: 1, firstMs: atMs, lastMs: atMs, score: 0 },
  ...more,
})
const isOffence = ({ kind }: PeerEvent): boolean => kind === 'behaviour'

it('merges nearby events of one reason, with the detail of the last', () => {
  const history = [
    event('behaviour', 'flood', 0),
    event('behaviour', 'slow', 1_000),
    event('connected', 'inbound', 2_000),
    event('behaviour', 'flood', 3_000, { detail: 'again', count: 2 }),
    event('behaviour', 'slow', 200_000),
  ]
  expect(latestCauses(history, isOffence)).toEqual([
    { reason: 'slow', count: 1, lastMs: 200_000 },
    { reason: 'flood', detail: 'again', count: 3, lastMs: 3_000 },
    { reason: 'slow', count: 1, lastMs: 1_000 },
  ])
})

it('returns at most five causes', () => {
  const history = Array.from({ length: 9 }, (_, n) => event('behaviour', `r${n}`, n))
  expect(latestCauses(history, isOffence).map(({ reason }) => reason)).toEqual(['r8', 'r7', 'r6', 'r5', 'r4'])
})

it('merges events within a minute, and separates later events', () => {
  const history = [0, 60_000, 120_001].map((atMs) => event('behaviour', 'flood', atMs))
  expect(latestCauses(history, isOffence).map(({ count }) => count)).toEqual([1, 2])
})
