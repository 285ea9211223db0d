import { randomBytes } from 'node:crypto'
import { connect as connectTcp, type Socket } from 'node:net'
import type { Connection } from '@libp2p/interface'
import { compressSnappy } from '../base/snappyBlock.ts'
import { PING_PROTOCOL } from '../host/pingServer.ts'
import { payloadByNumberProtocols } from '../sync/payloadByNumber.ts'
import { type GossipStream, type HostileHost, muxerOf, socketOf } from './hostileHost.ts'
import { encodeRpc, frameRpc, varint } from './rpcCodec.ts'

/** One attacking identity: its connection and its gossip stream. */
export interface Session {
  hostile: HostileHost
  address: string
  connection: Connection
  gossip: GossipStream
}

/** `step` is called every `everyMs` until the attack ends. When the connection closes, a new identity is created. */
export interface Attack {
  everyMs: number
  step(session: Session, count: number): void | Promise<void>
  /** Called once for each identity. */
  begin?(session: Session): void | Promise<void>
  end?(hostile: HostileHost): void
}

const many = { maxOutboundStreams: 100_000 }
const ids = (count: number): Uint8Array[] => Array.from({ length: count }, () => new Uint8Array(randomBytes(20)))
/** An RPC that publishes these messages. */
export const publishing = (topic: string, datas: readonly Uint8Array[]): Uint8Array =>
  frameRpc(encodeRpc({ messages: datas.map((data) => ({ topic, data })) }))
const repeat = (frame: Uint8Array, count: number): Uint8Array =>
  Buffer.concat(Array.from({ length: count }, () => frame))
export const lazily = <T>(make: () => T): (() => T) => {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
/** 10 MB that compress to half a megabyte. Each copy differs in bytes that the compression stores literally. */
const packedBomb = lazily(() => {
  const data = new Uint8Array(10_000_000)
  const marker = randomBytes(16)
  data.set(marker, 70)
  const packed = compressSnappy(data)
  return { packed, at: Buffer.from(packed.buffer, packed.byteOffset, packed.length).indexOf(marker) }
})
const bomb = (): Uint8Array => {
  const { packed, at } = packedBomb()
  const copy = new Uint8Array(packed)
  copy.set(randomBytes(16), at)
  return copy
}
/** Silent connections of each attacker. */
const silent = new Map<HostileHost, Socket[]>()

/** Attacks on a node by unauthenticated peers, by name. `topic`: the topic of the chain's blocks. */
export function attacksOn(chainId: bigint, topic: string): Record<string, Attack> {
  const [request] = payloadByNumberProtocols(chainId)
  const messages = (datas: readonly Uint8Array[]) => publishing(topic, datas)
  const frames = {
    tiny: lazily(() => repeat(frameRpc(encodeRpc({ iwant: [ids(1)] })), 500)),
    emptyIds: lazily(() => frameRpc(encodeRpc({ ihave: [Array.from({ length: 100_000 }, () => new Uint8Array(0))] }))),
    ihave: lazily(() => frameRpc(encodeRpc({ ihave: [ids(5_000)], topic }))),
    subscriptions: lazily(() =>
      repeat(
        frameRpc(encodeRpc({ subscriptions: Array.from({ length: 100 }, (_, n) => [topic, n % 2 === 0] as const) })),
        5,
      ),
    ),
  }

  return {
    garbage: {
      everyMs: 10,
      step: ({ gossip }) => gossip.sendBytes(messages(ids(20).map((id) => Uint8Array.of(5, 0x10, ...id)))),
    },
    bombs: { everyMs: 60, step: ({ gossip }) => gossip.sendBytes(messages([bomb()])) },
    'bad-rpc': {
      everyMs: 10,
      step: ({ gossip }) => gossip.sendBytes(repeat(frameRpc(Uint8Array.of(0x12, 0x7f, 1)), 50)),
    },
    'many-fields': { everyMs: 50, step: ({ gossip }) => gossip.sendBytes(frames.emptyIds()) },
    'oversized-rpc': {
      everyMs: 20,
      async step({ hostile, connection }) {
        const stream = await hostile.openGossip(connection)
        stream.sendBytes(varint(2 ** 30), new Uint8Array(100_000))
      },
    },
    author: {
      everyMs: 10,
      step: ({ gossip }) =>
        gossip.send({
          messages: ids(20).map((data) => ({ topic, data, from: Uint8Array.of(1), seqno: Uint8Array.of(2) })),
        }),
    },
    'unknown-topics': {
      everyMs: 10,
      step: ({ gossip }) => gossip.send({ messages: ids(50).map((data) => ({ topic: `/x/${data[0]}`, data })) }),
    },
    'rpc-flood': { everyMs: 5, step: ({ gossip }) => gossip.sendBytes(frames.tiny()) },
    grafts: {
      everyMs: 10,
      begin: ({ gossip }) => gossip.send({ prune: [[topic, 3_600]] }),
      step: ({ gossip }) => gossip.send({ graft: Array.from({ length: 50 }, () => topic) }),
    },
    'graft-churn': {
      everyMs: 10,
      step: ({ gossip }) => gossip.send({ graft: [topic] }, { prune: [[topic, 1]] }),
    },
    ihaves: { everyMs: 20, step: ({ gossip }) => gossip.sendBytes(frames.ihave()) },
    iwants: {
      everyMs: 10,
      begin: ({ gossip }) => gossip.send({ prune: [[topic, 60]] }),
      step({ gossip, hostile }) {
        const announced = hostile.heard.slice(-20).flatMap(({ control }) => control?.ihave ?? [])
        gossip.send({ iwant: announced.map(({ messageIDs }) => messageIDs.slice(0, 1_000)).slice(0, 20) })
      },
    },
    idontwants: { everyMs: 10, step: ({ gossip }) => gossip.send({ idontwant: [ids(1_000)] }) },
    subscriptions: { everyMs: 10, step: ({ gossip }) => gossip.sendBytes(frames.subscriptions()) },
    'single-bytes': {
      everyMs: 5,
      begin: ({ gossip }) => gossip.sendBytes(varint(10 * 1024 * 1024)),
      step({ gossip }) {
        for (let n = 0; n < 100; n++) gossip.stream.send(Uint8Array.of(n))
      },
    },
    'gossip-streams': {
      everyMs: 10,
      async step({ hostile, connection }) {
        await Promise.all(Array.from({ length: 10 }, () => hostile.openGossip(connection)))
      },
    },
    streams: {
      everyMs: 10,
      step({ connection }, count) {
        const muxer = muxerOf(connection)
        for (let n = 0; n < 20; n++)
          muxer.sendFrame({ type: 1, flag: 1, streamID: 100_001 + 2 * (20 * count + n), length: 0 })
      },
    },
    'yamux-pings': {
      everyMs: 10,
      step({ connection }) {
        for (let n = 0; n < 100; n++) muxerOf(connection).sendPing(n)
      },
    },
    'giant-frames': {
      everyMs: 20,
      async step({ connection }) {
        const stream = await connection.newStream(request, many)
        const head = Buffer.alloc(12)
        head.writeUInt32BE(Number(stream.id), 4)
        head.writeUInt32BE(2 ** 31, 8)
        muxerOf(connection).maConn.send(new Uint8Array(head))
        muxerOf(connection).maConn.send(new Uint8Array(1_000_000))
      },
    },
    pings: {
      everyMs: 10,
      async step({ connection }) {
        const stream = await connection.newStream(PING_PROTOCOL, many)
        for (let n = 0; n < 10; n++) stream.send(new Uint8Array(32 * 20))
      },
    },
    requests: {
      everyMs: 20,
      async step({ connection }) {
        const stream = await connection.newStream(request, many)
        stream.send(Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0))
      },
    },
    'large-requests': {
      everyMs: 50,
      async step({ connection }) {
        const stream = await connection.newStream(request, many)
        for (let n = 0; n < 10; n++) stream.send(new Uint8Array(200_000))
      },
    },
    'slow-requests': {
      everyMs: 100,
      async step({ connection }, count) {
        const stream = await connection.newStream(request, many)
        stream.send(Uint8Array.of(count))
      },
    },
    'slow-reader': {
      everyMs: 1_000,
      begin: ({ connection }) => void socketOf(connection).pause(),
      step: () => {},
    },
    churn: {
      everyMs: 20,
      async step(session) {
        session.connection.abort(new Error('gone'))
        session.connection = await session.hostile.connect(session.address)
      },
    },
    /** All from one address. */
    'half-handshakes': halfHandshakes(() => '127.1.1.1'),
    /** Each from another address. */
    'many-half-handshakes': halfHandshakes(() => `127.2.1.${1 + Math.floor(Math.random() * 250)}`),
  }
}

/** Opens two hundred silent connections a second. Keeps the newest two hundred open. */
function halfHandshakes(localIp: () => string): Attack {
  return {
    everyMs: 50,
    step({ hostile, address }) {
      const port = Number(/\/tcp\/(\d+)/.exec(address)?.[1])
      const sockets = silent.get(hostile) ?? []
      silent.set(hostile, sockets)
      for (let n = 0; n < 10; n++) {
        const socket = connectTcp({ port, host: '127.0.0.1', localAddress: localIp() })
        socket.on('error', () => {})
        sockets.push(socket)
      }
      for (const socket of sockets.splice(0, Math.max(0, sockets.length - 200))) socket.destroy()
    },
    end(hostile) {
      for (const socket of silent.get(hostile) ?? []) socket.destroy()
      silent.delete(hostile)
    },
  }
}
