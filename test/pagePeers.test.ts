import { describe, expect, it } from 'vitest'
import { type Peer, withStaticPeers } from '../dashboard/peer.ts'
import { sortPeers, toPeerRow } from '../dashboard/peerRow.ts'
import { STANDING } from '../src/rpc/testUtils/recorder.ts'

const NOW_MS = 1_700_000_000_000
const failure = { reason: 'refused', text: 'nothing listens there', atMs: 0 }
const staticPeer = (peerID: string, connected: boolean, why = connected ? null : failure) => {
  return { peerID, connected, sinceMs: 0, failure: why }
}
const peer = (changes: Partial<Peer> = {}): Peer => ({
  ...{ ...STANDING, score: 1, facts: undefined, away: undefined },
  ...changes,
})
const row = (changes: Partial<Peer>) => toPeerRow(peer(changes), undefined, NOW_MS)

describe('static peers in the table', () => {
  it.each<[string, Parameters<typeof withStaticPeers>[1], [string, string | undefined][]]>([
    ['none', [], [['a', undefined]]],
    ['one connected peer', [staticPeer('a', true)], [['a', undefined]]],
    [
      'one disconnected peer',
      [staticPeer('b', false)],
      [
        ['a', undefined],
        ['b', 'nothing listens there'],
      ],
    ],
    [
      'one peer that has not answered yet',
      [staticPeer('b', false, null)],
      [
        ['a', undefined],
        ['b', 'no answer yet'],
      ],
    ],
  ])('%s', (_, statics, expected) => {
    const peers = withStaticPeers([{ ...STANDING, peerID: 'a' }], statics)
    expect(peers.map(({ peerID, away }) => [peerID, away])).toEqual(expected)
  })

  it('are listed once if they are also blocked', () => {
    const blocked = { ...STANDING, peerID: 'b', connected: false, blocked: true }
    expect(withStaticPeers([blocked], [staticPeer('b', false)])).toEqual([
      { ...blocked, away: 'nothing listens there' },
    ])
  })
})

it.each<[Partial<Peer>, ReturnType<typeof row>['tone'], string[]]>([
  [{}, 'good', []],
  [{ score: -1, protected: true }, 'warned', ['protected']],
  [{ static: true, protected: true }, 'good', ['static']],
  [{ static: true, connected: false, away: 'no route' }, 'warned', ['static, no route']],
  [
    { ban: { subject: 'a', kind: 'peer', reason: '', untilMs: NOW_MS + 300_000, remainingS: 300 } },
    'bad',
    ['banned, 5 min left'],
  ],
  [{ blocked: true, static: true, away: 'blocked' }, 'bad', ['blocked', 'static, blocked']],
])('shows the state of a peer: %j', (changes, tone, flags) => {
  expect(row(changes)).toMatchObject({ tone, flags })
})

it('sorts peers in both directions, with an unknown latency as the slowest', () => {
  const facts = (ms: number) => ({ userAgent: '', addresses: [], direction: 1 as const, latency: ms * 1e6 })
  const list = () => [
    row({ peerID: 'a' }),
    row({ peerID: 'b', facts: facts(9) }),
    row({ peerID: 'c', facts: facts(3) }),
  ]
  const ids = (isDescending: boolean) =>
    sortPeers(list(), 'latency', isDescending).map(({ peer: { peerID } }) => peerID)
  expect([ids(false), ids(true)]).toEqual([
    ['c', 'b', 'a'],
    ['a', 'b', 'c'],
  ])
})
