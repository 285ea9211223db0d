import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { parsePeerId } from '../host/multiaddrs.ts'
import { FakeStream } from '../testUtils/fakeStream.ts'
import { testBlock, testChain, testConfig } from '../testUtils/testChain.ts'
import { encodeRequest, RESULT } from './payloadByNumber.ts'
import { createPayloadServer, MAX_REQUEST_BYTES } from './server.ts'

const config = testConfig()
const remotePeer = parsePeerId('16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc')

/** Sends the request, by default for the block of this number; resolves when the server has done with it. */
async function ask(
  stream: FakeStream,
  number: number,
  request = encodeRequest(number),
): Promise<{ oversized: number }> {
  let oversized = 0
  const block = testBlock(config, { blockNumber: 7 })
  const serve = createPayloadServer({
    chain: testChain(config, { payloadByNumber: async (asked) => (asked === 7 ? block : undefined) }),
    recent: () => undefined,
    clock: new ManualClock(Date.now()),
    logger: silentLogger,
    onOversized: () => {
      oversized += 1
    },
    metrics: { onRequest: () => {} },
  })
  const served = serve(stream, { remotePeer })
  stream.receive(request)
  await served
  return { oversized }
}

describe('createPayloadServer', () => {
  it('says what it cannot give', async () => {
    const stream = new FakeStream()
    await ask(stream, 8)
    expect(stream.sent).toEqual([Uint8Array.of(RESULT.notFound)])
    expect(stream.isClosed).toBe(true)
  })

  it('takes a longer request by its first bytes, and throws away what follows', async () => {
    const stream = new FakeStream()
    const request = new Uint8Array(MAX_REQUEST_BYTES)
    request.set(encodeRequest(8))
    expect(await ask(stream, 8, request)).toEqual({ oversized: 0 })
    expect(stream.sent).toEqual([Uint8Array.of(RESULT.notFound)])
    for (let n = 0; n < 3; n++) stream.receive(new Uint8Array(1))
    expect(stream.readBufferLength).toBe(0)
    expect(stream.aborted?.message).toContain('more than 1024 bytes')
  })

  it('resets at once what is far too long for a request, and tells of it once', async () => {
    const stream = new FakeStream()
    expect(await ask(stream, 8, new Uint8Array(200_000))).toEqual({ oversized: 1 })
    expect(stream.aborted?.message).toContain('more than 1024 bytes')
  })

  it('resets a stream whose answer it could not send whole', async () => {
    const stream = new FakeStream()
    stream.hasRoom = () => false
    stream.onDrain = async () => {
      throw new Error('not read in time')
    }
    await ask(stream, 7)
    expect(stream.sent.map((bytes) => [...bytes])).toEqual([[RESULT.ok, 1, 0, 0, 0]])
    expect(stream.aborted?.message).toBe('not read in time')
  })

  it.each([
    { bytes: 100, atOnce: 64, thenEachMs: 1_000 / 16 },
    { bytes: 1024 * 1024, atOnce: 13, thenEachMs: 5_000 / 16 },
  ])('gives a peer $atOnce blocks of $bytes bytes at once, then one each $thenEachMs ms', async (limit) => {
    const { bytes, atOnce, thenEachMs } = limit
    const clock = new ManualClock(Date.now())
    const block = testBlock(config, { blockNumber: 7, transactions: [new Uint8Array(bytes)] })
    const serve = createPayloadServer({
      chain: testChain(config, { payloadByNumber: async () => block }),
      recent: () => undefined,
      clock,
      logger: silentLogger,
      onOversized: () => {},
      metrics: { onRequest: () => {} },
    })
    const request = (): Promise<void> => {
      const stream = new FakeStream()
      stream.receive(encodeRequest(7))
      return serve(stream, { remotePeer })
    }
    for (let count = 0; count < atOnce; count++) await request()
    const startMs = clock.now()
    let served = 0
    const asking = (async () => {
      for (; served < 10; served++) await request()
    })()
    while (served < 10) await clock.advance(1)
    await asking
    expect((clock.now() - startMs) / 10 / thenEachMs).toBeGreaterThan(0.9)
    expect((clock.now() - startMs) / 10 / thenEachMs).toBeLessThan(1.1)
  })
})
