import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { PeerStanding } from '../../p2p/base/schemas.ts'
import type { NodeHealth } from '../../rollup/node/api.ts'
import { cause } from '../../rollup/node/health/facts.ts'
import type { SyncStatus } from '../../rollup/protocol/types.ts'
import { hash, recorder, STANDING } from '../testUtils/recorder.ts'
import { NodeHistory } from './nodeHistory.ts'

const START_MS = 1_000_000
const PEER = STANDING.peerID

/** A running history with its own clock. The test can change the node's and the peers' answers. */
async function started() {
  const { node, p2p, listeners } = recorder()
  const clock = new ManualClock(START_MS)
  const now = {
    status: node.syncStatus(),
    standings: [STANDING] as PeerStanding[],
    health: { ...(await node.health()), state: 'healthy', causes: [] } as NodeHealth,
  }
  const history = new NodeHistory({
    node: { ...node, syncStatus: () => now.status, health: async () => now.health },
    p2p: { onNotification: p2p.onNotification, standings: () => now.standings },
    clock,
    logger: silentLogger,
  })
  const stop = new AbortController()
  const running = history.run(stop.signal)
  await clock.advance(0)
  const end = async () => {
    stop.abort()
    await running
  }
  const move = (changes: Partial<SyncStatus>) => {
    now.status = { ...now.status, ...changes }
    for (const listener of listeners.heads) listener()
  }
  const head = (digit: string, parent: string, number: number) => ({
    ...{ ...now.status.unsafeL2, hash: hash(digit), parentHash: hash(parent), number },
  })
  return { history, clock, now, listeners, move, head, end }
}

describe('the history of a node', () => {
  it('has what an operator notes', async () => {
    const { history, end } = await started()
    history.noteAction('partition verifier1')
    expect(history.since(0).events.at(-1)).toEqual({
      ...{ atMs: START_MS, kind: 'note', text: 'partition verifier1', subject: null },
    })
    await end()
  })

  it('has a sample of heads, peers and gas every two seconds', async () => {
    const { history, clock, now, end } = await started()
    await clock.advance(2_000)
    now.standings = []
    await clock.advance(2_000)
    expect(history.since(0).samples).toEqual({
      atMs: [START_MS, START_MS + 2_000, START_MS + 4_000],
      ...{ unsafe: [5, 5, 5], safe: [6, 6, 6], finalized: [7, 7, 7], l1: [2, 2, 2] },
      ...{ peers: [1, 1, 0], mesh: [0, 0, 0], gas: [63_000, null, null] },
    })
    expect(history.since(START_MS + 2_000).samples.atMs).toEqual([START_MS + 4_000])
    await end()
  })

  it('keeps an hour, and no more', async () => {
    const { history, clock, end } = await started()
    await clock.advance(2 * 3_600_000)
    const { samples, scores } = history.since(0)
    expect([samples.atMs.length, samples.atMs[0]]).toEqual([1_800, START_MS + 3_602_000])
    expect([scores.atMs.length, scores.peers[PEER]?.length]).toEqual([360, 360])
    await end()
  })

  it('has the scores of peers, and null while one is away', async () => {
    const { history, clock, now, end } = await started()
    now.standings = []
    await clock.advance(10_000)
    now.standings = [{ ...STANDING, score: 1.234 }]
    await clock.advance(10_000)
    expect(history.since(0).scores.peers).toEqual({ [PEER]: [-12, null, 1.23] })
    await end()
  })

  it('reuses the column of a disconnected peer, which then starts empty', async () => {
    const { history, clock, now, end } = await started()
    now.standings = Array.from({ length: 100 }, (_, index) => ({ ...STANDING, peerID: `peer ${index}` }))
    await clock.advance(10_000)
    const { peers } = history.since(0).scores
    expect([Object.keys(peers).length, peers[PEER], peers['peer 99']]).toEqual([100, undefined, [null, -12]])
    await end()
  })

  it('keeps the scores of a hundred peers where there are more', async () => {
    const { history, clock, now, end } = await started()
    now.standings = Array.from({ length: 150 }, (_, index) => ({ ...STANDING, peerID: `peer ${index}` }))
    await clock.advance(20_000)
    const { peers } = history.since(0).scores
    expect([Object.keys(peers).length, peers['peer 0'], peers['peer 100']]).toEqual([100, [null, -12, -12], undefined])
    await end()
  })

  it('records faults and their end, bans, blocks and reorgs', async () => {
    const { history, clock, now, listeners, move, head, end } = await started()
    now.health = {
      ...now.health,
      ...{ state: 'stopped', text: 'Verifier is stopped. It has no peers.' },
      causes: [cause('no-peers', 'It has no peers.')],
    }
    await clock.advance(2_000)
    for (const listener of listeners.notifications) {
      listener({ event: 'ban', peerID: PEER, reason: 'score −120 is below −100', untilMs: 0 })
      listener({ event: 'block', subnet: '10.0.0.0/8' })
    }
    move({ unsafeL2: head('a', '5', 6) })
    move({ unsafeL2: head('0', '0', 0) })
    move({ unsafeL2: head('b', '9', 4) })
    move({ unsafeL2: head('c', 'b', 5) })
    move({ unsafeL2: head('d', 'e', 6) })
    expect(history.since(0).events.map(({ kind, text, subject }) => [kind, text, subject])).toEqual([
      ['start', 'The node started.', null],
      ['recovery', expect.any(String), null],
      ['fault', 'Verifier is stopped. It has no peers.', null],
      ['ban', 'banned: score −120 is below −100', PEER],
      ['block', 'blocked by the operator', '10.0.0.0/8'],
      ['reorg', 'L2 reorg: the head moved from block 6 to 4 and abandoned 3 blocks.', null],
      ['reorg', 'L2 reorg: the head moved from block 5 to 6 and abandoned 1 block.', null],
    ])
    await end()
    expect([listeners.notifications.size, listeners.heads.size]).toEqual([0, 0])
  })
})
