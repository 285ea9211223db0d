import { StreamCloseEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import type { PayloadEnvelope } from '../../rollup/protocol/types.ts'
import type { P2pChain } from '../base/options.ts'
import { parsePeerId } from '../host/multiaddrs.ts'
import { FakeStream } from '../testUtils/fakeStream.ts'
import { testBlock, testChain, testConfig } from '../testUtils/testChain.ts'
import { encodeRequest, RESULT } from './payloadByNumber.ts'
import { createPayloadServer } from './server.ts'

const config = testConfig()
const remotePeer = parsePeerId('16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc')

function setUp(changes: Partial<Parameters<typeof createPayloadServer>[0]> = {}) {
  const clock = new ManualClock(Date.now())
  const serve = createPayloadServer({
    chain: testChain(config),
    recent: () => undefined,
    clock,
    logger: silentLogger,
    onOversized: () => {},
    metrics: { onRequest: () => {} },
    ...changes,
  })
  return { clock, serve: (stream: FakeStream) => serve(stream, { remotePeer }) }
}

describe('createPayloadServer', () => {
  it('resets a stream if the answer could not be sent completely', async () => {
    const stream = new FakeStream()
    stream.hasRoom = () => false
    stream.onDrain = async () => {
      throw new Error('not read in time')
    }
    const block = testBlock(config, { blockNumber: 7 })
    const { serve } = setUp({ chain: testChain(config, { payloadByNumber: async () => block }) })
    stream.receive(encodeRequest(7))
    await serve(stream)
    expect(stream.sent.map((bytes) => [...bytes])).toEqual([[RESULT.ok, 1, 0, 0, 0]])
    expect(stream.aborted?.message).toBe('not read in time')
  })

  it.each([
    { bytes: 100, atOnce: 64, thenEachMs: 1_000 / 16 },
    { bytes: 1024 * 1024, atOnce: 13, thenEachMs: 5_000 / 16 },
  ])('sends a peer $atOnce blocks of $bytes bytes at once, then one every $thenEachMs ms', async (limit) => {
    const { bytes, atOnce, thenEachMs } = limit
    const block = testBlock(config, { blockNumber: 7, transactions: [new Uint8Array(bytes)] })
    const { clock, serve } = setUp({ chain: testChain(config, { payloadByNumber: async () => block }) })
    const request = (): Promise<void> => {
      const stream = new FakeStream()
      stream.receive(encodeRequest(7))
      return serve(stream)
    }
    for (let count = 0; count < atOnce; count++) await request()
    const startMs = clock.now()
    let served = 0
    const requests = (async () => {
      for (; served < 10; served++) await request()
    })()
    while (served < 10) await clock.advance(1)
    await requests
    expect((clock.now() - startMs) / 10 / thenEachMs).toBeGreaterThan(0.9)
    expect((clock.now() - startMs) / 10 / thenEachMs).toBeLessThan(1.1)
  })

  const NOW_S = 1_700_000_000
  const younger = testConfig('holocene', {
    blockTime: 2,
    genesis: { ...config.genesis, l2Time: NOW_S - 51, l2: { ...config.genesis.l2, number: 100 } },
  })
  function serverOf(payloadByNumber: P2pChain['payloadByNumber'], recent?: PayloadEnvelope) {
    const clock = new ManualClock(NOW_S * 1000)
    const results: number[] = []
    const { serve } = setUp({
      chain: testChain(younger, { payloadByNumber }),
      recent: () => recent,
      clock,
      metrics: { onRequest: (_role, _number, result) => results.push(result) },
    })
    const request = async (number: number): Promise<number | undefined> => {
      const stream = new FakeStream()
      stream.receive(encodeRequest(number))
      await serve(stream)
      expect(stream.sent[0]?.[0]).toBe(results.at(-1))
      return results.at(-1)
    }
    return { clock, request, serve }
  }
  const block = testBlock(younger, { blockNumber: 125, timestamp: NOW_S - 1 })

  it.each([
    [99, RESULT.invalidRequest],
    [100, RESULT.ok],
    [125, RESULT.ok],
    [126, RESULT.invalidRequest],
    [Number.MAX_SAFE_INTEGER + 1, RESULT.invalidRequest],
  ])('with blocks 100 to 125, answers a request for block %d with code %d', async (number, code) => {
    expect(await serverOf(async () => block).request(number)).toBe(code)
  })

  it('answers a request before the genesis time as invalid', async () => {
    const { clock, request } = serverOf(async () => block)
    await clock.advance(-52_000)
    expect(await request(100)).toBe(RESULT.invalidRequest)
    await clock.advance(1_000)
    expect(await request(100)).toBe(RESULT.ok)
  })

  it('serves a valid block that the chain does not have yet, and reports an unreadable chain', async () => {
    expect(await serverOf(async () => undefined, block).request(125)).toBe(RESULT.ok)
    const broken = serverOf(async () => {
      throw new Error('no engine')
    })
    expect(await broken.request(125)).toBe(RESULT.unknownError)
  })

  it('refuses a request that would wait for more than 20 s, without using a token', async () => {
    const { clock, request } = serverOf(async () => block)
    const answered: (number | undefined)[] = []
    const waiting = Array.from({ length: 64 + 20 * 16 }, () => request(125).then((code) => answered.push(code)))
    for (let n = 0; n < 50; n++) expect(await request(125)).toBe(RESULT.unknownError)
    await clock.advance(63)
    waiting.push(request(125).then((code) => answered.push(code)))
    expect(await request(125)).toBe(RESULT.unknownError)
    for (let n = 0; n < 400; n++) await clock.advance(63)
    await Promise.all(waiting)
    expect(answered).toEqual(new Array(385).fill(RESULT.ok))
  })

  it('reads no block for a stream that closed while waiting, and at most two at once per peer', async () => {
    const reading: (() => void)[] = []
    const { serve } = serverOf(() => new Promise((resolve) => reading.push(() => resolve(block))))
    const streams = Array.from({ length: 4 }, () => new FakeStream())
    const served = streams.map((stream) => {
      stream.receive(encodeRequest(125))
      return serve(stream)
    })
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    await turn()
    expect(reading).toHaveLength(2)
    streams[2]?.fall(new StreamCloseEvent())
    for (let n = 0; n < 2; n++) reading[n]?.()
    while (reading.length < 3) await turn()
    reading[2]?.()
    await Promise.all(served)
    expect(streams.map(({ sent }) => sent[0]?.[0])).toEqual([RESULT.ok, RESULT.ok, RESULT.unknownError, RESULT.ok])
  })
})
