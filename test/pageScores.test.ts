import { describe, expect, it } from 'vitest'
import { labelRows } from '../dashboard/labelRows.ts'
import { consequences, limitsOf, limitText } from '../dashboard/scoreReasons.ts'
import { PEER_A, scoreReport } from '../src/cli/testUtils/peerAnswers.ts'
import type { PeerScoreReport, ScoreThreshold } from '../src/p2p/base/schemas.ts'

const NOW_MS = 1_700_000_000_000

function thresholds(total: number): ScoreThreshold[] {
  const limits = { mesh: 0, gossip: -10, publish: -40, graylist: -40, ban: -100 }
  return Object.entries(limits).map(([name, value]) => ({
    ...{ name: name as ScoreThreshold['name'], value, below: total < value },
    ...{ effect: `${name} effect`, changesInS: null },
  }))
}

const follows = (changes: Partial<PeerScoreReport>) => consequences(scoreReport(changes))

describe('the thresholds of a score', () => {
  it('are merged if they are equal, the highest first', () => {
    const limits = limitsOf({ thresholds: thresholds(-12), static: false })
    expect(limits.map(limitText)).toEqual(['mesh 0', 'gossip -10', 'publish, graylist -40', 'ban -100'])
    expect(limits.map(({ isCrossed }) => isCrossed)).toEqual([true, true, false, false])
  })

  it('contain no ban threshold for a static peer', () => {
    expect(limitsOf({ thresholds: thresholds(-500), static: true }).map(limitText)).not.toContain('ban -100')
  })
})

describe('the consequences for a peer', () => {
  it.each<[string, Partial<PeerScoreReport>, (string | RegExp)[]]>([
    ['with a good score', { thresholds: thresholds(1) }, ['the score is above every threshold']],
    ['that is disconnected', { connected: false, forgottenInS: 600 }, [/expires in 10 min$/]],
    [
      'that is banned',
      {
        ...{ connected: false, forgottenInS: 600, thresholds: thresholds(-460) },
        ban: { subject: PEER_A, kind: 'peer', reason: 'score', untilMs: NOW_MS + 3_600_000, remainingS: 3_600 },
      },
      [/^refused until \d\d:\d\d:\d\d \(60 min left\), unless you unblock it$/, /expires in 10 min$/],
    ],
    [
      'below two thresholds',
      { thresholds: thresholds(-12) },
      [/^below 0 \(mesh\): mesh effect; does not end/, /^below -10 \(gossip\): gossip effect; does not end/],
    ],
  ])('%s', (_, changes, expected) => {
    expect(follows(changes)).toEqual(expected.map((line) => expect.stringMatching(line)))
  })
})

describe('the rows of threshold labels', () => {
  it.each<[string, number[], number[]]>([
    ['far apart: one row', [100, 200, 300], [0, 0, 0]],
    ['close together: each in the row above the last', [100, 120, 140], [0, 1, 2]],
    ['then back in the lowest row where there is room', [100, 120, 240], [0, 1, 0]],
    ['beside a line from a higher row', [100, 120, 175], [0, 1, 2]],
  ])('%s', (_, ends, rows) => {
    expect(labelRows(ends.map((at) => ({ at, length: 60 })))).toEqual(rows)
  })
})
