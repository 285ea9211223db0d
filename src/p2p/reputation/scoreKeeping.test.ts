import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { PeerScores } from '../base/api.ts'
import type { PeerCounters } from '../gossip/adapter.ts'
import type { SavedCounters } from '../gossip/gossipScore.ts'
import { scoreKeeper, topicCounters } from '../testUtils/scoreKeeper.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { createAppScores } from './appScores.ts'
import { gossipScores } from './peerScores.ts'
import { openScoreBook, type ScoreBook } from './scoreBook.ts'
import { createScoreKeeping } from './scoreKeeping.ts'

const { params } = scoreKeeper().scoring
const NOTHING: PeerCounters = { connected: true, expire: 0, knownIPs: new Set(), behaviourPenalty: 0, topics: {} }

/** One run of the node. The test sets gossipsub's counters; everything else is real. */
function run(clock: ManualClock, book: ScoreBook) {
  const gossip = new Map<string, PeerCounters>()
  const restored = new Map<string, { counters: SavedCounters; forMs: number }>()
  const connected = new Set<string>()
  const appScores = createAppScores()
  const scores = {
    of: (peer: string): PeerScores => ({
      gossip: gossipScores(gossip.has(peer) ? -30 : 0, gossip.get(peer), 0),
      reqResp: appScores.counters(peer),
    }),
  }
  const keeping = createScoreKeeping(
    {
      book,
      router: {
        counters: (peer) => gossip.get(peer),
        forgive: (peer) => void gossip.delete(peer),
        restore: (peer, counters, forMs) => void restored.set(peer, { counters, forMs }),
      },
      appScores,
      scores,
      connected: () => [...connected],
      clock,
    },
    params,
  )
  keeping.restore()
  return {
    keeping,
    appScores,
    restored,
    connected,
    gossip,
    join(peer: string, invalid: number, behaviourPenalty: number) {
      connected.add(peer)
      const given = { firstMessageDeliveries: 10, meshMessageDeliveries: 10, meshFailurePenalty: 1 }
      const counters = topicCounters({ inMesh: true, meshTime: 8_000, ...given, invalidMessageDeliveries: invalid })
      gossip.set(peer, { ...NOTHING, behaviourPenalty, topics: { [TOPIC]: counters } })
    },
  }
}
async function firstRun() {
  const clock = new ManualClock(1_700_000_000_000)
  const book = await openScoreBook({ clock, logger: silentLogger }, undefined, { retainMs: params.retainScore })
  return { clock, book, ...run(clock, book) }
}

describe('createScoreKeeping', () => {
  it('restores the counters of a peer, decayed as in a running node', async () => {
    const { clock, book, ...before } = await firstRun()
    before.join('peer', 4, 9)
    before.appScores.record('peer', 'rejectedPayloads')
    await before.keeping.close()
    await clock.advance(60_000)
    const after = run(clock, book)
    const { counters, forMs } = after.restored.get('peer') ?? {}
    // 30 slots of 2 s.
    expect(counters?.behaviourPenalty).toBeCloseTo(9 * 0.92611873 ** 30, 5)
    expect(counters?.topics[TOPIC]?.invalidMessageDeliveries).toBeCloseTo(4 * 0.98476665 ** 30, 5)
    expect(counters?.topics[TOPIC]?.firstMessageDeliveries).toBeCloseTo(10 * 0.96235063 ** 30, 5)
    // 1 · 0.8577^30 = 0.00999…, below the limit that counts.
    expect(counters?.topics[TOPIC]?.meshFailurePenalty).toBeLessThan(0.0101)
    expect(counters?.topics[TOPIC]?.meshTime).toBe(8_000)
    expect(forMs).toBe(params.retainScore - 60_000)
    expect(after.appScores.score('peer')).toBeCloseTo(-20 * 0.92611873 ** 30, 4)
  })

  it('does not decay the score of a disconnected peer, like gossipsub', async () => {
    const { clock, book, ...before } = await firstRun()
    before.join('peer', 4, 9)
    const after = before.keeping.onLeave('peer')
    before.connected.delete('peer')
    after()
    await clock.advance(60_000)
    await before.keeping.close()
    expect(run(clock, book).restored.get('peer')?.counters.behaviourPenalty).toBe(9)
  })

  it('shows the last score of a disconnected peer, until it expires', async () => {
    const { clock, keeping, gossip, connected, join, appScores } = await firstRun()
    join('good', 0, 0)
    appScores.record('good', 'validResponses')
    const after = keeping.onLeave('good')
    connected.delete('good')
    gossip.delete('good')
    after()
    expect(keeping.of('good').gossip).toMatchObject({
      total: -30,
      blocks: { timeInMesh: 8, firstMessageDeliveries: 10 },
    })
    expect(keeping.of('good').reqResp.validResponses).toBe(1)
    await clock.advance(params.retainScore - 2_000)
    await keeping.save()
    expect(keeping.of('good').gossip.total).toBe(-30)
    expect(appScores.peers()).toEqual(['good'])
    await clock.advance(4_000)
    await keeping.save()
    expect(keeping.of('good').gossip.total).toBe(0)
    expect(appScores.peers()).toEqual([])
  })

  it('counts late results against a disconnected peer', async () => {
    const { clock, book, keeping, appScores } = await firstRun()
    appScores.record('gone', 'rejectedPayloads')
    await keeping.save()
    appScores.record('gone', 'rejectedPayloads')
    await keeping.close()
    expect(book.get('gone')).toMatchObject({ connected: false, lastUpdate: 1_700_000_000 })
    expect(run(clock, book).appScores.counters('gone').rejectedPayloads).toBe(2)
  })

  it('treats peers that disconnect during the stop as connected', async () => {
    const { book, keeping, gossip, join } = await firstRun()
    join('peer', 4, 9)
    await keeping.close()
    const after = keeping.onLeave('peer')
    gossip.clear()
    after()
    await keeping.save()
    expect(book.get('peer')).toMatchObject({ connected: true, counters: { behaviourPenalty: 9 } })
  })

  it('stores nothing for a peer without counters', async () => {
    const { book, keeping, gossip, connected } = await firstRun()
    connected.add('unknown')
    gossip.set('unknown', { ...NOTHING, behaviourPenalty: 3 })
    await keeping.save()
    expect(book.get('unknown')).toBeDefined()
    gossip.delete('unknown')
    await keeping.save()
    expect(book.get('unknown')).toBeUndefined()
  })

  it('restores only the topic and behaviour penalties in gossip', async () => {
    const { clock, book, keeping, gossip, connected, join, appScores } = await firstRun()
    for (const peer of ['behaved', 'answers']) connected.add(peer)
    gossip.set('behaved', { ...NOTHING, behaviourPenalty: 3 })
    join('topic', 4, 0)
    appScores.record('answers', 'errorResponses')
    await keeping.close()
    const { restored, appScores: after } = run(clock, book)
    expect([...restored.keys()]).toEqual(['behaved', 'topic'])
    expect(after.peers()).toEqual(['answers'])
  })

  it('drops the counters of a topic that is no longer scored', async () => {
    const { clock, book, keeping, gossip, connected } = await firstRun()
    connected.add('peer')
    gossip.set('peer', {
      ...NOTHING,
      behaviourPenalty: 3,
      topics: { gone: topicCounters({ inMesh: true, firstMessageDeliveries: 5 }) },
    })
    await keeping.close()
    expect(run(clock, book).restored.get('peer')?.counters.topics).toEqual({})
  })

  it('drops counters that decay to zero while the node is down', async () => {
    const { clock, book, keeping, join } = await firstRun()
    join('peer', 0, 3)
    await keeping.close()
    await clock.advance(600_000)
    expect(run(clock, book).restored.get('peer')?.counters.behaviourPenalty).toBe(0)
  })

  it('resets penalties in gossip, in requests and in the score book', async () => {
    const { book, keeping, gossip, join, appScores } = await firstRun()
    join('peer', 4, 9)
    appScores.record('peer', 'rejectedPayloads')
    await keeping.save()
    keeping.forgive('peer')
    expect([gossip.has('peer'), appScores.peers(), book.get('peer')]).toEqual([false, [], undefined])
  })

  it('writes nothing after its stop', async () => {
    const { book, keeping, join } = await firstRun()
    await keeping.close()
    join('peer', 4, 9)
    await keeping.save()
    expect(book.get('peer')).toBeUndefined()
  })

  it('shows the current score of a connected peer, not the stored one', async () => {
    const { keeping, join, appScores } = await firstRun()
    join('peer', 4, 9)
    await keeping.save()
    appScores.record('peer', 'rejectedPayloads')
    expect(keeping.of('peer').reqResp.rejectedPayloads).toBe(1)
  })
})
