import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { parsePeerId } from '../host/multiaddrs.ts'
import { FakeStream } from '../testUtils/fakeStream.ts'
import { testBlock, testChain, testConfig } from '../testUtils/testChain.ts'
import { encodeRequest, RESULT } from './payloadByNumber.ts'
import { createPayloadServer } from './server.ts'

const config = testConfig()
const remotePeer = parsePeerId('16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc')

/** Asks for the block of this number; resolves when the server has done with it. */
async function ask(stream: FakeStream, number: number): Promise<void> {
  const block = testBlock(config, { blockNumber: 7 })
  const serve = createPayloadServer({
    chain: testChain(config, { payloadByNumber: async (asked) => (asked === 7 ? block : undefined) }),
    recent: () => undefined,
    clock: new ManualClock(Date.now()),
    logger: silentLogger,
    metrics: { onRequest: () => {} },
  })
  const served = serve(stream, { remotePeer })
  stream.receive(encodeRequest(number))
  await served
}

describe('createPayloadServer', () => {
  it('says what it cannot give', async () => {
    const stream = new FakeStream()
    await ask(stream, 8)
    expect(stream.sent).toEqual([Uint8Array.of(RESULT.notFound)])
    expect(stream.isClosed).toBe(true)
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
})
