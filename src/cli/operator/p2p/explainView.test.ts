import { describe, expect, it } from 'vitest'
import type { PeerHistory, PeerScoreReport } from '../../../p2p/base/schemas.ts'
import { perTerm, TOPIC_TERMS } from '../../../p2p/base/scoreTerms.ts'
import { PEER_A, PEER_B, scoreReport, term } from '../../testUtils/peerAnswers.ts'
import { formatExplanation, formatScores } from './explainView.ts'

const HISTORY: PeerHistory = {
  peerID: PEER_A,
  events: [
    {
      kind: 'reject',
      reason: 'wrong-hash',
      detail: `computed\u001b[2J 0x${'12'.repeat(32)}`,
      block: { number: 9, hash: `0x${'ab'.repeat(32)}` },
      topics: [3],
      count: 2,
      firstMs: 0,
      lastMs: 1_700_000_000_000,
      score: -1.5,
    },
  ],
}
const explain = (changes: Partial<PeerScoreReport>, width?: number) =>
  formatExplanation({ score: scoreReport(changes), history: HISTORY }, width)
const linesOf = (text: string) => text.split('\n').map((line) => line.replace(/ +/g, ' '))

const PART = {
  topic: 't',
  version: 4,
  inMesh: true,
  topicWeight: 0.5,
  ...perTerm(TOPIC_TERMS, () => term(0, 0)),
  timeInMesh: term(10, 0.1),
  firstDeliveries: term(100, 1),
  meshDeficit: term(4, -0.7),
  meshFailures: term(2, -0.7),
  invalidMessages: term(9, -4),
  score: 30,
}

describe('formatExplanation', () => {
  it('shows terms, causes, consequences, advice and history', () => {
    const [last] = HISTORY.events
    if (last === undefined) throw new Error('no event')
    const { kind, firstMs, score, ...cause } = last
    const text = explain({
      total: -31,
      mainReason: '12 peers on 8.8.8.8',
      ipColocation: {
        score: -140,
        parts: [
          {
            ip: '8.8.8.8',
            peers: [PEER_A, PEER_B],
            threshold: 10,
            exempt: false,
            exemptBy: null,
            ...term(4, -35),
          },
        ],
      },
      behaviour: { score: 0, penalties: 2.5, threshold: 6, value: 0, weight: -16 },
      causes: { rejections: [cause], behaviour: [], application: [] },
      thresholds: [
        { name: 'mesh', value: 0, below: true, effect: 'not in our meshes', changesInS: 240 },
        { name: 'gossip', value: -10, below: true, effect: 'no gossip', changesInS: null },
        { name: 'graylist', value: -40, below: false, effect: 'unread', changesInS: 6 },
        { name: 'ban', value: -100, below: false, effect: 'banned', changesInS: null },
      ],
    })
    expect(linesOf(text)).toEqual([
      PEER_A,
      'score -31, main reason: 12 peers on 8.8.8.8',
      'connected',
      '',
      'term count weight score',
      'requests answered with a good block 8 0.5 4',
      'IP 8.8.8.8: 2 peers, 10 free 2² -35 -140',
      'misbehaviour points: 2.5, 6 free 0 -16 0',
      'total -31',
      '',
      'causes',
      ' invalid message: wrong-hash 2 times, block 9 0xabab…abab on v3: computed?[2J 0x1212…1212 (2023-11-14 22:13:20)',
      ' same IP 8.8.8.8: …rYUqNnZ7',
      '',
      'consequences',
      ' below 0 (mesh): not in our meshes; ends in 4 min without new events',
      ' below -10 (gossip): no gossip; does not end within 60 min without action',
      ' falls below -40 (graylist) in 6 s: unread',
      ' 69 points above the ban at -100',
      '',
      'advice',
      ' If you know the peers on 8.8.8.8, exempt it: --p2p.score.ip-exempt 8.8.8.8/32',
      ' A peer in --p2p.static is never banned for its score.',
      '',
      'history',
      'time (UTC) score event',
      '2023-11-14 22:13:20 -1.5 message rejected: wrong-hash 2 times, block 9 0xabab…abab on v3: computed?[2J 0x1212…1212',
    ])
  })

  it('uses the names that the operator has set', () => {
    const named = (id: string) => (id === PEER_A ? 'verifier1' : 'sequencer')
    const parts = [
      { ip: '8.8.8.8', peers: [PEER_A, PEER_B], threshold: 1, exempt: false, exemptBy: null, ...term(1, -35) },
    ]
    const report = scoreReport({ total: -35, ipColocation: { score: -35, parts } })
    const text = formatExplanation({ score: report, history: { peerID: PEER_A, events: [] } }, undefined, named)
    expect(text).toMatch(/^verifier1, 16Uiu2HAm5Uc/)
    expect(text).toContain('same IP 8.8.8.8: sequencer')
    expect(formatScores([report], undefined, named)).toMatch(
      /\nverifier1 +-35 .*\n\ndetails of a peer: devium p2p explain verifier1$/,
    )
  })

  it('advises to exempt an IPv6 address or its /64 network', () => {
    const part = { peers: [PEER_A, PEER_B], threshold: 10, exempt: false, exemptBy: null, ...term(1, -35) }
    const parts = ['2001:db8::1', '2001:db8::/64'].map((ip) => ({ ip, ...part }))
    expect(linesOf(explain({ total: -70, ipColocation: { score: -70, parts } }))).toEqual(
      expect.arrayContaining([
        ' If you know the peers on 2001:db8::1, exempt it: --p2p.score.ip-exempt 2001:db8::1/128',
        ' If you know the peers on 2001:db8::/64, exempt it: --p2p.score.ip-exempt 2001:db8::/64',
      ]),
    )
  })

  it('names every term of a topic, and the cap of all topics', () => {
    const lines = linesOf(explain({ topics: { score: 34, cap: 34, parts: [PART, { ...PART, score: 10 }] } }))
    expect(lines).toEqual(
      expect.arrayContaining([
        'blocks v4: time in the mesh, in slots 10 0.05 0.5',
        'blocks v4: first to deliver a block 100 0.5 50',
        'blocks v4: fewer blocks delivered than required 2² -0.35 -1.4',
        'blocks v4: had a block and did not deliver it 2 -0.35 -0.7',
        'blocks v4: invalid messages 3² -2 -18',
        'all topics: limited to 34 -6',
      ]),
    )
  })

  const reason = 'score -200.00 is below -100: misbehaviour'
  const ban = { subject: PEER_A, kind: 'peer' as const, reason, untilMs: 0, remainingS: 90 }

  it('states that a peer without blocks by number loses no score', () => {
    const note = 'it does not serve blocks by number, like op-node since v1.20, which costs no score'
    expect(explain({ servesBlocks: false })).toContain(note)
    expect(explain({ servesBlocks: null })).not.toContain('by number, like')
  })

  it('omits the effects of a score that expires before the ban ends', () => {
    const thresholds = [{ name: 'ban' as const, value: -100, below: true, effect: 'banned', changesInS: null }]
    const text = explain({ connected: false, total: -200, forgottenInS: 60, ban, thresholds })
    expect(text).toContain('the score expires before the ban ends (in 60 s), so the peer starts again at 0')
    expect(text).not.toContain('when it reconnects')
  })

  it('shows bans and blocks, the commands to end them, and that the score does not change meanwhile', () => {
    const text = explain({
      connected: false,
      total: -200,
      forgottenInS: 540,
      ban,
      refusals: [{ subject: '10.0.0.0/8', reason: 'its IP 10.1.2.3 is in the blocked subnet 10.0.0.0/8' }],
      thresholds: [
        { name: 'mesh', value: 0, below: true, effect: 'not in our meshes', changesInS: null },
        { name: 'ban', value: -100, below: true, effect: 'banned, and its connections are closed', changesInS: null },
      ],
    })
    const following = linesOf(text)
    expect(following.slice(following.indexOf('consequences'), following.indexOf('consequences') + 7)).toEqual([
      'consequences',
      ' banned until 1970-01-01 00:00:00 UTC (90 s more): score -200.00 is below -100: misbehaviour',
      ' to end the ban and reset the score: devium p2p unblock …c7RqNtL9',
      ' refused: its IP 10.1.2.3 is in the blocked subnet 10.0.0.0/8',
      ' to unblock it: devium p2p unblock 10.0.0.0/8',
      ' when it reconnects, below -100 (ban): banned, and its connections are closed',
      ' the score does not change while the peer is disconnected, and expires in 9 min',
    ])
  })

  it('names the exemption of an IP, and states that a static peer is not banned', () => {
    const text = explain({
      static: true,
      total: -120,
      ipColocation: {
        score: 0,
        parts: [
          {
            ip: '127.0.0.1',
            peers: [PEER_A, PEER_B],
            threshold: 10,
            exempt: true,
            exemptBy: '127.0.0.0/8',
            ...term(0, -35),
          },
        ],
      },
      thresholds: [{ name: 'ban', value: -100, below: true, effect: 'banned', changesInS: null }],
    })
    expect(text).toContain('static (never banned for its score)')
    expect(text).toMatch(/IP 127\.0\.0\.1: exempt \(127\.0\.0\.0\/8\) +0\n/)
    expect(text).toContain('same IP 127.0.0.1: 1 other peer, at no cost in score (--p2p.score.ip-exempt 127.0.0.0/8)')
    expect(text).not.toContain('below -100')
  })

  it('fits a terminal of 80 columns', () => {
    const effect = 'we announce no blocks to it and ignore its announcements (no IHAVE, no IWANT)'
    const thresholds: PeerScoreReport['thresholds'] = [
      { name: 'gossip', value: -10, below: true, effect, changesInS: null },
    ]
    const text = explain({ thresholds, topics: { score: 34, cap: 34, parts: [PART] } }, 80)
    expect(Math.max(...text.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(text).toContain('    (no IHAVE, no IWANT);')
  })

  it('explains why a peer left the mesh by itself', () => {
    const change = (kind: 'graft' | 'prune', reason: string) => ({
      ...{ kind, reason, topics: [4], count: 1, firstMs: 0, lastMs: 0, score: 0 },
    })
    const [came, left] = [change('graft', 'by-peer'), change('prune', 'by-peer')]
    const away = { topics: { score: 0, cap: 0, parts: [{ ...PART, inMesh: false }] } }
    const explained = (changes: Partial<PeerScoreReport>, events: PeerHistory['events']) =>
      formatExplanation({ score: scoreReport(changes), history: { peerID: PEER_A, events } })
    expect(explained(away, [came, left])).toContain(
      'it left our mesh: it has enough mesh peers, or its score of this node is below 0',
    )
    expect(explained(away, [came, left, came, left])).toContain('it leaves our mesh repeatedly: ')
    for (const quiet of [
      explained(away, []),
      explained(away, [came, left, came]),
      explained(away, [came, left, change('prune', 'by-us')]),
      explained({ topics: { score: 0, cap: 0, parts: [PART] } }, [came, left]),
      explained({ ...away, connected: false }, [came, left]),
    ]) {
      expect(quiet).not.toContain('our mesh')
    }
  })
})

describe('formatScores', () => {
  it('has one line per peer with its main reason, the lowest score first', () => {
    const worse = scoreReport({
      peerID: PEER_B,
      total: -50.123,
      mainReason: 'invalid messages on v3 (last: wrong-hash)',
      thresholds: [
        { name: 'mesh', value: 0, below: true, effect: '', changesInS: null },
        { name: 'graylist', value: -40, below: true, effect: '', changesInS: null },
      ],
    })
    expect(linesOf(formatScores([scoreReport({ total: 4 }), worse]))).toEqual([
      'peer score state main reason',
      '…rYUqNnZ7 -50.12 graylisted invalid messages on v3 (last: wrong-hash)',
      '…c7RqNtL9 4 good requests answered with good blocks',
      '',
      'details of a peer: devium p2p explain …rYUqNnZ7',
    ])
    expect(formatScores([])).toBe('no connected peers')
  })
})
