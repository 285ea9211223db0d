import { describe, expect, it } from 'vitest'
import { chartData, eventsWithin, eventText, eventTone } from '../dashboard/chartData.ts'
import { NodePast } from '../dashboard/nodePast.ts'
import type { History, HistoryEvent } from '../src/rpc/schemas/history.ts'

const MINUTE_MS = 60_000
const BAN: HistoryEvent = { atMs: 4_000, kind: 'ban', text: 'banned: score −120 is below −100', subject: 'abc' }

/** An answer with a sample at each of the moments. */
function historyOf(atMs: number[], changes: Partial<History> = {}): History {
  const all = (value: number) => atMs.map(() => value)
  return {
    sampleMs: 2_000,
    samples: {
      ...{ atMs, unsafe: all(10), safe: all(7), finalized: all(4), l1: all(3) },
      ...{ peers: all(2), mesh: all(1), gas: all(50_000) },
    },
    scores: { atMs, peers: { abc: all(1), def: all(-2) } },
    events: [],
    ...changes,
  }
}
const named = (id: string) => `named ${id}`
const chart = (past: NodePast, key: Parameters<typeof chartData>[1], spanMs = 5 * MINUTE_MS) =>
  chartData(past, key, spanMs, named)

describe('the past of a node on the page', () => {
  it('appends only newer entries of an answer', () => {
    const past = new NodePast()
    past.add(0, historyOf([2_000], { events: [BAN] }))
    past.add(0, historyOf([2_000, 4_000]))
    expect([past.lastMs, past.version, past.samples.atMs]).toEqual([4_000, 1, [2_000]])
    past.add(4_000, historyOf([5_000], { scores: { atMs: [5_000], peers: { ghi: [3] } } }))
    expect(past.scores.column('ghi')).toEqual([null, 3])
    expect(past.scores.column('abc')).toEqual([1, null])
    expect(past.events).toEqual([BAN])
  })

  it('keeps one hour', () => {
    const past = new NodePast()
    past.add(0, historyOf([1_000, 2_000]))
    past.add(2_000, historyOf([61 * MINUTE_MS]))
    expect(past.samples.atMs).toEqual([61 * MINUTE_MS])
    expect(past.samples.column('unsafe')).toEqual([10])
  })
})

describe('the chart', () => {
  const past = new NodePast()
  past.add(0, historyOf([0, 1, 2, 10, 11].map((minute) => 1 + minute * MINUTE_MS)))

  it('draws how far heads are behind within its span, with a gap while the node was down', () => {
    const { seconds, series } = chart(past, 'behind')
    expect(seconds.map(Math.round)).toEqual([600, 615, 660])
    expect(series.map(({ label, values }) => [label, values])).toEqual([
      ['Blocks not finalized', [6, null, 6]],
      ['Blocks not safe', [3, null, 3]],
    ])
    expect(chart(past, 'peers', 60 * MINUTE_MS).seconds).toHaveLength(9)
  })

  it('lists the scores of peers by name, the lowest first', () => {
    expect(chart(past, 'scores').series.map(({ label }) => label)).toEqual(['named def', 'named abc'])
  })

  it('marks events within its span, with a sentence that names the peer', () => {
    const eventful = new NodePast()
    const old: HistoryEvent = { atMs: 1, kind: 'start', text: 'The node started.', subject: null }
    const late = { ...BAN, atMs: 10 * MINUTE_MS }
    eventful.add(0, historyOf([10 * MINUTE_MS], { events: [old, late] }))
    expect(eventsWithin(eventful, 5 * MINUTE_MS)).toEqual([late])
    expect([eventText(late, named), eventText(old, named)]).toEqual([
      'named abc banned: score −120 is below −100.',
      'The node started.',
    ])
    expect([eventTone(late), eventTone(old)]).toEqual(['bad', 'quiet'])
  })
})
