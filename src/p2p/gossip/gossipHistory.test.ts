import { describe, expect, it } from 'vitest'
import { ManualClock, unixSeconds } from '../../lib/clock.ts'
import { rawPeerInTest } from '../testUtils/inTest.ts'
import { gossipInternals, type MessageHistory } from './adapter.ts'
import { createGossipHistory } from './gossipHistory.ts'
import { GOSSIP_PARAMS } from './params.ts'

const clock = new ManualClock(1_700_000_000_000)
const nowS = unixSeconds(clock)

function setUp(options = { maxAgeS: 60 }) {
  const cache: MessageHistory = {
    history: Array.from({ length: GOSSIP_PARAMS.mcacheLength }, () => []),
    msgs: new Map(),
  }
  const blocks = createGossipHistory(cache, { clock }, options)
  return {
    cache,
    blocks,
    listed: () => blocks.list().map(({ msgIdStr }) => msgIdStr),
    put(msgIdStr: string, { ageS = 0, bytes = 100, heartbeatsAgo = 0, validated = true } = {}) {
      cache.history[heartbeatsAgo]?.push({ msgId: Buffer.from(msgIdStr), msgIdStr, topic: 't' })
      cache.msgs.set(msgIdStr, { validated, message: { data: new Uint8Array(bytes) } })
      blocks.onValid(msgIdStr, nowS - ageS)
    },
  }
}

describe('createGossipHistory', () => {
  it('lists blocks that peers would still accept, newest first', () => {
    const { put, listed, blocks } = setUp()
    put('old', { ageS: 45, heartbeatsAgo: 80 })
    put('too old for the way', { ageS: 46, heartbeatsAgo: 80 })
    put('was late', { ageS: 50 })
    put('new', { ageS: 1, heartbeatsAgo: 2 })
    put('not judged yet', { validated: false })
    expect(listed()).toEqual(['new', 'old'])
    expect(blocks.list(1).map(({ msgIdStr }) => msgIdStr)).toEqual(['new'])
  })

  it('applies our own maximum age if it is lower', () => {
    const { put, listed } = setUp({ maxAgeS: 20 })
    put('old', { ageS: 16, heartbeatsAgo: 11 })
    put('new', { ageS: 15, heartbeatsAgo: 11 })
    expect(listed()).toEqual(['new'])
  })

  it('limits the bytes of messages older than the last seconds, and keeps the newest', () => {
    const { put, cache } = setUp()
    const bytes = 800 * 1024
    for (let n = 0; n < 5; n++) put(`recent ${n}`, { bytes, heartbeatsAgo: 11 })
    for (const heartbeatsAgo of [20, 12, 40]) put(`${heartbeatsAgo} ago`, { bytes, heartbeatsAgo })
    expect([...cache.msgs.keys()].filter((id) => id.endsWith('ago'))).toEqual(['20 ago', '12 ago'])
    expect(cache.msgs.size).toBe(7)
  })

  it('keeps at most 64 messages', () => {
    const { put, cache } = setUp()
    for (let n = 0; n < 65; n++) put(`${n}`, { heartbeatsAgo: 80 - n })
    expect(cache.msgs.has('0')).toBe(false)
    expect(cache.msgs.size).toBe(64)
  })

  it('the library answers IWANTs for as long as the blocks are announced', async () => {
    const topic = '/optimism/901/2/blocks'
    const { host } = await rawPeerInTest([topic])
    const gossip = gossipInternals(host.services.pubsub)
    const { history, msgs } = gossip.mcache
    createGossipHistory(gossip.mcache, { clock }, { maxAgeS: 60 })
    await host.services.pubsub.publish(topic, Uint8Array.of(1))
    const moveOn = async (heartbeats: number) => {
      for (let n = 0; n < heartbeats; n++) await gossip.heartbeat()
    }
    await moveOn(45_000 / GOSSIP_PARAMS.heartbeatInterval)
    expect(msgs.size).toBe(1)
    await moveOn(2)
    expect(msgs.size).toBe(0)
    expect(history).toHaveLength(92)
  })
})
