import { expect, it } from 'vitest'
import { scoreReport, term } from '../../cli/testUtils/peerAnswers.ts'
import { scoreRows } from './scoreRows.ts'
import { perTerm, TOPIC_TERMS } from './scoreTerms.ts'

it('shows a small weight with enough digits that count times weight is the score', () => {
  const part = { topic: 't', version: 4, inMesh: true, topicWeight: 0.5, score: 0.54 }
  const terms = { ...perTerm(TOPIC_TERMS, () => term(0, 1)), timeInMesh: term(121.54, 1 / 225) }
  expect(scoreRows(scoreReport({ topics: { score: 0.27, cap: 0, parts: [{ ...part, ...terms }] } }))).toEqual([
    { name: 'blocks v4: time in the mesh, in slots', count: '121.54', weight: '0.0022', score: expect.closeTo(0.27) },
    { name: 'requests answered with a good block', count: '8', weight: '0.5', score: 4 },
  ])
})
