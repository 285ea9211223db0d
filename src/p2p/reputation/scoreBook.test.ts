import { type Datastore, Key } from 'interface-datastore'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { ZERO_SCORES } from '../base/api.ts'
import { datastoreInTest } from '../testUtils/inTest.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { openScoreBook, type ScoreRecord } from './scoreBook.ts'

const RETAIN_MS = 1_200_000
const open = (clock: ManualClock, datastore?: Datastore) =>
  openScoreBook({ clock, logger: silentLogger }, datastore, { retainMs: RETAIN_MS })
async function setUp(startMs = 0) {
  const [clock, datastore] = [new ManualClock(startMs), await datastoreInTest()]
  return { clock, datastore, book: await open(clock, datastore) }
}

const COUNTS = {
  meshTime: 1,
  firstMessageDeliveries: 2,
  meshMessageDeliveries: 3,
  meshFailurePenalty: 4,
  invalidMessageDeliveries: 5,
}

function recordAt(lastUpdate: number, changes: Partial<ScoreRecord> = {}): ScoreRecord {
  const counters = { topics: { t: COUNTS }, behaviourPenalty: 7.5 }
  return { lastUpdate, peerScores: ZERO_SCORES, connected: true, counters, ...changes }
}

describe('openScoreBook', () => {
  it('survives a restart, and forgets scores after the retain time', async () => {
    const { clock, datastore, book } = await setUp(1_000_000)
    book.set('a', recordAt(1_000))
    await clock.advance(600_000)
    book.set('b', recordAt(1_600))
    await book.flush()
    expect((await open(clock, datastore)).all()).toEqual([
      ['a', recordAt(1_000)],
      ['b', recordAt(1_600)],
    ])
    await clock.advance(600_001)
    const later = await open(clock, datastore)
    expect(later.all().map(([peer]) => peer)).toEqual(['b'])
    await later.flush()
    expect(await datastore.has(new Key('/devium/peer-scores/a'))).toBe(false)
  })

  it('keeps only the latest peers, up to its limit', async () => {
    const { clock, datastore, book } = await setUp()
    for (let n = 0; n < 1_200; n++) book.set(`peer${n}`, recordAt(0))
    book.set('peer0', recordAt(0))
    expect(book.prune()).toHaveLength(200)
    await book.flush()
    const again = await open(clock, datastore)
    expect(again.all()).toHaveLength(1_000)
    expect(again.get('peer0')).toBeDefined()
    expect(again.get('peer200')).toBeUndefined()
  })

  it('keeps the order of updates over a restart, and at most eight topics', async () => {
    const { clock, datastore, book } = await setUp(1_000_000)
    const { counters } = recordAt(0)
    const topics = Object.fromEntries('abcdefgh'.split('').map((name) => [name, COUNTS]))
    book.set('a', recordAt(1_000, { counters: { ...counters, topics } }))
    book.set('z', recordAt(999))
    await book.flush()
    expect((await open(clock, datastore)).all().map(([peer]) => peer)).toEqual(['z', 'a'])
  })

  it('drops invalid entries with one warning, and keeps the others', async () => {
    const { clock, datastore, book } = await setUp()
    book.set('good', recordAt(0))
    await book.flush()
    const good = recordAt(0)
    const endless = (record: object): string => JSON.stringify(record).replace('"much"', '1e999')
    const damaged: unknown[] = [
      '{"half',
      [1],
      {},
      { ...good, lastUpdate: 'x' },
      { ...good, counters: { topics: {}, behaviourPenalty: -1 } },
      { ...good, counters: { topics: { t: {} }, behaviourPenalty: 0 } },
      { ...good, peerScores: {} },
      { ...good, connected: 1 },
      { ...good, counters: { topics: null, behaviourPenalty: 0 } },
      { ...good, peerScores: { ...ZERO_SCORES, reqResp: { ...ZERO_SCORES.reqResp, validResponses: -1 } } },
      { ...good, peerScores: { ...ZERO_SCORES, gossip: { ...ZERO_SCORES.gossip, blocks: {} } } },
      endless({ ...good, lastUpdate: 'much' }),
      endless({ ...good, peerScores: { ...ZERO_SCORES, gossip: { ...ZERO_SCORES.gossip, total: 'much' } } }),
      {
        ...good,
        counters: {
          ...good.counters,
          topics: Object.fromEntries('abcdefghi'.split('').map((t) => [t, good.counters.topics.t])),
        },
      },
    ]
    for (const [n, value] of damaged.entries()) {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      await datastore.put(new Key(`/devium/peer-scores/bad${n}`), Buffer.from(text))
    }
    // A record from before the application terms existed.
    const older = JSON.stringify({ ...good, peerScores: { ...ZERO_SCORES, reqResp: {} } })
    await datastore.put(new Key('/devium/peer-scores/older'), Buffer.from(older))
    const { logger, lines } = recordedLog('warn', 'text')
    const again = await openScoreBook({ clock, logger }, datastore, { retainMs: RETAIN_MS })
    expect(new Map(again.all())).toEqual(new Map(['good', 'older'].map((peer) => [peer, good])))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain(`count=${damaged.length}`)
    await again.flush()
    expect(await datastore.has(new Key('/devium/peer-scores/bad0'))).toBe(false)
  })

  it('a record written while the clock was ahead still expires', async () => {
    const { clock, datastore, book: ahead } = await setUp(9_000_000_000)
    ahead.set('a', recordAt(9_000_000))
    await ahead.flush()
    await clock.advance(-8_000_000_000)
    expect((await open(clock, datastore)).get('a')?.lastUpdate).toBe(1_000_000)
  })
})
