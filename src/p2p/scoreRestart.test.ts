import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type Clock, systemClock } from '../lib/clock.ts'
import { silentLogger } from '../lib/logger.ts'
import { ZERO_SCORES } from './base/api.ts'
import type { P2pOptions } from './base/options.ts'
import { blocksTopic } from './base/topics.ts'
import { openPeerDatastore } from './host/peerStore.ts'
import { openScoreBook } from './reputation/scoreBook.ts'
import { keptInTest, nodeInTest, rawPeerInTest } from './testUtils/inTest.ts'
import { CHAIN_ID, SEQUENCER_KEY, testBlock, testConfig } from './testUtils/testChain.ts'
import { type TestNode, until } from './testUtils/testNode.ts'

const TOPIC = blocksTopic(CHAIN_ID, 3)

/** Clocks stand still here: scores decay by them, and a busy machine takes long over a restart. */
const startMs = Date.now()
/** A node that keeps itself there, whose clock stands `laterMs` after the start. */
async function startAt(kept: Partial<P2pOptions>, laterMs = 0, staticPeers: string[] = []): Promise<TestNode> {
  const clock: Clock = { now: () => startMs + laterMs, setTimeout: systemClock.setTimeout }
  return nodeInTest({ ...kept, staticPeers }, { clock })
}
const totalOf = async ({ node }: TestNode, peerId: string) => (await node.peerScore(peerId))[0]?.total ?? 0

describe('a restart', () => {
  it('does not forgive a hostile peer, but what decays goes on doing so', async () => {
    const kept = await keptInTest()
    const first = await startAt(kept)
    const raw = await rawPeerInTest([TOPIC])
    await raw.connect(first.address)
    for (let n = 0; n < 5; n++) await raw.publish(TOPIC, Uint8Array.of(5, 0x10, 1, n))
    await until('its price', async () => (await totalOf(first, raw.peerId)) < -60)
    const thresholds = (await first.node.peerScore(raw.peerId))[0]?.thresholds
    expect(thresholds?.find(({ name }) => name === 'mesh')?.changesInS).toBeGreaterThan(10)
    await first.node.stop()

    const second = await startAt(kept)
    expect(await totalOf(second, raw.peerId)).toBeLessThan(-40)
    const shown = (await second.node.peers(false)).peers[raw.peerId]
    expect(shown?.connectedness).toBe(0)
    expect(shown?.scores.gossip.total).toBeLessThan(-40)
    expect(shown?.scores.gossip.blocks.invalidMessageDeliveries).toBeGreaterThan(3.5)
    await raw.connect(second.address)
    await until('its return', () => second.node.connectedPeers().includes(raw.peerId))
    expect(await totalOf(second, raw.peerId)).toBeLessThan(-35)
    expect(second.node.meshSize()).toBe(0)
    await second.node.stop()

    // 5 · 0.98476665^150 = 0.5 invalid messages are left after 150 slots of a second.
    const third = await startAt(kept, 150_000)
    expect(await totalOf(third, raw.peerId)).toBeLessThan(-0.1)
    expect(await totalOf(third, raw.peerId)).toBeGreaterThan(-1)
    await third.node.stop()

    // 100 epochs of 6 slots.
    const last = await startAt(kept, 610_000)
    expect(await totalOf(last, raw.peerId)).toBe(0)
    expect((await last.node.peers(false)).peers[raw.peerId]?.scores ?? ZERO_SCORES).toEqual(ZERO_SCORES)
  })

  it('does not make a good peer start from nothing', async () => {
    const kept = await keptInTest()
    const source = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
    const first = await startAt(kept, 0, [source.address])
    await until('the mesh', () => source.node.meshSize() === 1 && first.node.meshSize() === 1)
    const config = testConfig()
    for (let blockNumber = 1; blockNumber <= 5; blockNumber++) {
      const block = testBlock(config, { blockNumber, timestamp: Math.floor(startMs / 1000) })
      await source.node.publish(block)
      await first.block(block.payload.blockHash)
    }
    const earned = await totalOf(first, source.node.peerId)
    expect(earned).toBeGreaterThan(3)
    await first.node.stop()

    const second = await startAt(kept, 0, [source.address])
    await until('its return', () => second.node.connectedPeers().includes(source.node.peerId))
    expect(await totalOf(second, source.node.peerId)).toBeGreaterThan(earned / 2)
  })

  it('by kill -9 loses nothing that was written', async () => {
    const { peerStorePath: path } = await keptInTest()
    const script = `
      const { openPeerDatastore } = await import('./host/peerStore.ts')
      const { openScoreBook } = await import('./reputation/scoreBook.ts')
      const { ZERO_SCORES } = await import('./base/api.ts')
      const modules = { logger: console, clock: { now: Date.now } }
      const { datastore } = await openPeerDatastore(process.argv[1], modules)
      const book = await openScoreBook(modules, datastore, { retainMs: 600_000 })
      const lastUpdate = Math.floor(Date.now() / 1000)
      const counters = { topics: {}, behaviourPenalty: 9 }
      for (let round = 0; ; round++) {
        for (let n = 0; n < 50; n++) {
          book.put('peer' + n, { lastUpdate, peerScores: ZERO_SCORES, connected: true, counters })
        }
        await book.flush()
        if (round === 3) console.log('written')
      }`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', script, path], {
      cwd: fileURLToPath(new URL('.', import.meta.url)),
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await new Promise((resolve) => child.stdout.once('data', resolve))
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
    const modules = { logger: silentLogger, clock: systemClock }
    const { datastore, close } = await openPeerDatastore(path, modules)
    onTestFinished(close)
    const book = await openScoreBook(modules, datastore, { retainMs: 600_000 })
    expect(book.entries()).toHaveLength(50)
    expect(book.get('peer7')?.counters.behaviourPenalty).toBe(9)
  })
})
