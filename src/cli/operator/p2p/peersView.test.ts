import { describe, expect, it } from 'vitest'
import { PEER_A, PEER_B } from '../../testUtils/peerAnswers.ts'
import { formatHistories, formatHistory } from './historyView.ts'
import { formatBans, formatRules, formatStats } from './peersView.ts'

const linesOf = (text: string) => text.split('\n').map((line) => line.replace(/ +/g, ' '))
const event = (kind: string, reason: string, lastMs: number, more: object = {}) => ({
  kind,
  reason,
  count: 1,
  firstMs: 0,
  lastMs,
  score: 0,
  ...more,
})

describe('formatHistories', () => {
  it('describes the events of all peers, ordered by time', () => {
    const first = [
      event('connected', 'inbound', 1_000, { detail: `/ip4/10.0.0.1/tcp/9/p2p/${PEER_A}` }),
      event('graft', 'refused', 3_000, { topics: [1, 3], count: 4 }),
    ]
    const second = [event('unban', 'expired', 2_000), event('behaviour', 'broken-promise', 4_000)]
    const answers = [
      { peerID: PEER_A, events: first },
      { peerID: PEER_B, events: second },
    ]
    expect(linesOf(formatHistories(answers, undefined))).toEqual([
      'time (UTC) peer score event',
      '1970-01-01 00:00:01 …c7RqNtL9 0 it connected: /ip4/10.0.0.1/tcp/9',
      '1970-01-01 00:00:02 …rYUqNnZ7 0 the ban expired',
      '1970-01-01 00:00:03 …c7RqNtL9 0 it asked to join the mesh and was refused 4 times, on v1 v3',
      '1970-01-01 00:00:04 …rYUqNnZ7 0 misbehaved: broken-promise',
    ])
    expect(formatHistories([], undefined)).toBe('no recorded events')
    expect(formatHistory({ peerID: PEER_A, events: [] }, undefined)).toContain('no recorded events')
  })
  it('shows the latest of many events', () => {
    const events = Array.from({ length: 60 }, (_, n) => event('reject', `reason${n}`, n * 1_000))
    const lines = linesOf(formatHistories([{ peerID: PEER_A, events }], undefined))
    expect(lines[1]).toContain('reason10')
    expect(lines.at(-1)).toContain('the latest 50 of 60 events')
  })
})

describe('formatBans', () => {
  it('shows subject, end and reason, and the command to end a ban', () => {
    const bans = [{ subject: PEER_A, kind: 'peer', reason: 'score -150', untilMs: 1_000, remainingS: 90 }]
    expect(linesOf(formatBans(bans, 80))).toEqual([
      'banned until (UTC) left reason',
      '…c7RqNtL9 1970-01-01 00:00:01 90 s score -150',
      '',
      'to end a ban: devium p2p unblock …c7RqNtL9',
    ])
    expect(formatBans([])).toContain('no active bans')
  })
})

describe('formatRules and formatStats', () => {
  it('list blocked entries, and count peers', () => {
    const blocks = [
      { subject: PEER_A, kind: 'peer', reason: 'sent old blocks', sinceMs: 1_000 },
      { subject: 'fd00::/8', kind: 'subnet', reason: '', sinceMs: null },
    ]
    expect(linesOf(formatRules({ blocks, allow: null })).slice(1)).toEqual([
      `peer ${PEER_A} 1970-01-01 00:00:01 sent old blocks`,
      'subnet fd00::/8 - -',
      '',
      `to unblock an entry: devium p2p unblock ${PEER_A}`,
    ])
    const rules = linesOf(formatRules({ blocks: [], allow: ['10.0.0.0/8', PEER_A] }))
    expect(rules).toContain('the block list is empty (bans for a low score: devium p2p bans)')
    expect(rules.at(-1)).toBe(`only static peers and these may connect (--p2p.allow): 10.0.0.0/8, ${PEER_A}`)
    expect(linesOf(formatStats({ connected: 2, banned: 1, more: 3 }))).toEqual([
      'peers number',
      'connected 2',
      'blocked or banned 1',
      'more 3',
    ])
  })
})
