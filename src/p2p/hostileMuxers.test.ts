import { randomBytes } from 'node:crypto'
import type { Connection } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../lib/bytes.ts'
import { until } from '../lib/testUtils/until.ts'
import { MAX_INBOUND_STREAMS } from './host/guardedMuxers.ts'
import { PING_PROTOCOL } from './host/pingServer.ts'
import { muxerOf, type RawMuxer } from './hostile/hostileHost.ts'
import { encodeRpc, frameRpc, varint } from './hostile/rpcCodec.ts'
import { payloadByNumberProtocols } from './sync/payloadByNumber.ts'
import { haltableClock } from './testUtils/clocks.ts'
import { gossiped, startVictims } from './testUtils/hostileSetup.ts'
import { collect, hostileVisits, MANY_STREAMS } from './testUtils/hostileVisits.ts'
import { CHAIN_ID, TOPIC } from './testUtils/testChain.ts'

const [REQUEST] = payloadByNumberProtocols(CHAIN_ID)
/** yamux frame types. */
const DATA = 0
const GO_AWAY = 3

const { clock, halt } = haltableClock()
const { victims, hostile, connect, blamed, isClosed, endedBecause } = hostileVisits(() => startVictims({}, { clock }))

describe('mplex', () => {
  const [NEW_STREAM, MESSAGE] = [0, 2]
  const frame = (id: number, type: number, data: Uint8Array): Uint8Array =>
    concatBytes(varint(id * 8 + type), varint(data.length), data)
  const send = (connection: Connection, frames: Uint8Array[]) => muxerOf(connection).maConn.send(concatBytes(...frames))

  it('closes the connection of a peer that sends a message byte by byte', async () => {
    const connection = await connect({ muxer: 'mplex' })
    const { stream } = await hostile().openGossip(connection)
    stream.send(varint(20_000))
    const tinyFrame = frame(Number(stream.id.slice(1)), MESSAGE, Uint8Array.of(1))
    await halt(async () => {
      for (let n = 0; n < 12 && connection.status === 'open'; n++) {
        send(connection, Array<Uint8Array>(1_000).fill(tinyFrame))
      }
      await isClosed(connection)
    })
    await blamed('muxer-abuse')
    await endedBecause('tiny frames')
  })

  it('reads a frame that arrives in many small chunks', async () => {
    const connection = await connect({ muxer: 'mplex' })
    const { stream } = await hostile().openGossip(connection)
    const data = gossiped({ blockNumber: 3, transactions: [new Uint8Array(randomBytes(300_000))] })
    const rpc = frameRpc(encodeRpc({ messages: [{ topic: TOPIC, data }] }))
    const whole = frame(Number(stream.id.slice(1)), MESSAGE, rpc)
    const before = victims().follower.received.length
    for (let at = 0; at < whole.length; at += 200) send(connection, [whole.subarray(at, at + 200)])
    await until('the block', () => victims().follower.received.length > before)
    expect(victims().follower.received.at(-1)?.payload.blockNumber).toBe(3)
  })

  it.each([
    [
      'of a peer that opens streams without end',
      'too many streams',
      Array.from({ length: MAX_INBOUND_STREAMS + 1 }, (_, n) => frame(1_000 + n, NEW_STREAM, new Uint8Array(1))),
    ],
    ['at a frame above the size limit', 'too large', [concatBytes(varint(4_711 * 8 + MESSAGE), varint(2 ** 20 + 1))]],
  ])('closes the connection %s', async (_what, reason, frames) => {
    const connection = await connect({ muxer: 'mplex' })
    send(connection, frames)
    await isClosed(connection)
    await blamed('muxer-abuse')
    await endedBecause(reason)
  })

  it('stops reading frames of closed streams, without a penalty', async () => {
    const connection = await connect({ muxer: 'mplex' })
    send(connection, Array<Uint8Array>(1_000).fill(frame(4_711, MESSAGE, new Uint8Array(100))))
    await isClosed(connection)
    await endedBecause('frames of closed streams')
    expect(await victims().count(hostile().peerId, 'behaviour', 'muxer-abuse')).toBe(0)
  })
})

describe('the multiplexer', () => {
  it.each<[string, string, (muxer: RawMuxer, streamID: number) => unknown]>([
    [
      'that sends endless pings',
      'too many pings',
      (muxer) => {
        for (let n = 0; n < 200; n++) muxer.sendPing(n)
      },
    ],
    [
      'whose frame exceeds its window, at the frame header',
      '2147483648 bytes',
      (muxer, streamID) => {
        const head = Buffer.alloc(12)
        head.writeUInt8(DATA, 1)
        head.writeUInt32BE(streamID, 4)
        head.writeUInt32BE(2 ** 31, 8)
        muxer.maConn.send(new Uint8Array(head))
      },
    ],
    [
      'that sends more than the window',
      'a frame of 300000 bytes',
      (muxer, streamID) => muxer.sendFrame({ type: DATA, flag: 0, streamID, length: 300_000 }, new Uint8Array(300_000)),
    ],
    [
      'that speaks another protocol',
      'Invalid frame version',
      ({ maConn }) => maConn.send(new Uint8Array(100).fill(0xab)),
    ],
  ])('closes the connection of a peer %s', async (_what, reason, abuse) => {
    const connection = await connect()
    const stream = await connection.newStream(REQUEST, MANY_STREAMS)
    abuse(muxerOf(connection), Number(stream.id))
    await isClosed(connection)
    await blamed('muxer-abuse')
    await endedBecause(reason)
  })

  it('closes the connection of a peer that sends a message byte by byte', async () => {
    const connection = await connect()
    const { stream } = await hostile().openGossip(connection)
    stream.send(varint(20_000))
    await halt(async () => {
      for (let n = 0; n < 12_000 && stream.status === 'open'; n++) {
        stream.send(Uint8Array.of(1))
        // Let the answers arrive.
        if (n % 20 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
      await isClosed(connection)
    })
    await blamed('muxer-abuse')
    await endedBecause('tiny frames')
  })

  it.each([0, 1])(
    'closes the connection of a peer that sends GOAWAY with reason %i and stays connected',
    async (reason) => {
      const connection = await connect()
      muxerOf(connection).sendFrame({ type: GO_AWAY, flag: 0, streamID: 0, length: reason })
      await isClosed(connection)
      await until('its history', async () => (await victims().count(hostile().peerId, 'disconnected', 'by-peer')) > 0)
    },
  )

  it('ignores a late ping answer', async () => {
    const connection = await connect()
    muxerOf(connection).sendFrame({ type: 2, flag: 2, streamID: 0, length: 4_711 })
    const stream = await connection.newStream(PING_PROTOCOL, MANY_STREAMS)
    const answer = collect(stream)
    stream.send(new Uint8Array(32).fill(5))
    await until('the answer to a ping', () => answer.length === 32)
    expect(answer).toEqual(new Array(32).fill(5))
  })
})
