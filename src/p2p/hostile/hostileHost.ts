import type { Socket } from 'node:net'
import { RPC } from '@chainsafe/libp2p-gossipsub/message'
import { noise } from '@chainsafe/libp2p-noise'
import { type Identify, identify } from '@libp2p/identify'
import type { Connection, Libp2p, Stream, StreamMessageEvent } from '@libp2p/interface'
import { mplex } from '@libp2p/mplex'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { concatBytes } from '../../lib/bytes.ts'
import { untilAborted } from '../../lib/untilAborted.ts'
import { createFrameAssembler } from '../base/frameAssembler.ts'
import { socketOf as socketUnder } from '../host/socketOf.ts'
import { startBareHost } from './bareHost.ts'
import { type AnyRpc, encodeRpc, frameRpc } from './rpcCodec.ts'

/** Time limit for the remote side's subscriptions. */
const JOIN_TIMEOUT_MS = 60_000
export const MESHSUB = '/meshsub/1.1.0'

/** A peer with a hand-written gossipsub protocol. It sends anything, valid or not. */
export interface HostileHost {
  host: Libp2p<{ identify: Identify }>
  peerId: string
  /** Its listening address; empty if it does not listen. */
  address: string
  heard: RPC[]
  /** Connects, opens gossip streams on both sides, and subscribes to the topics. */
  join(address: string, topics: readonly string[]): Promise<GossipStream>
  connect(address: string): Promise<Connection>
  openGossip(connection: Connection): Promise<GossipStream>
  stop(): Promise<void>
}

export interface GossipStream {
  stream: Stream
  connection: Connection
  send(...rpcs: AnyRpc[]): void
  sendBytes(...frames: Uint8Array[]): void
}

/** The members of yamux's muxer that allow rule violations. */
export interface RawMuxer {
  createStream(): Promise<Stream>
  readonly streams: { streamId: number }[]
  sendPing(id: number): void
  sendFrame(header: { type: number; flag: number; streamID: number; length: number }, data?: Uint8Array): void
  readonly maConn: { send(bytes: Uint8Array): boolean }
}

export interface HostileHostOptions {
  listen?: boolean
  localIp?: string
  muxer?: 'yamux' | 'mplex'
  /** Sent as one packet right after the handshake, before a multiplexer is negotiated. */
  first?: Uint8Array
}

export async function startHostileHost(options: HostileHostOptions = {}): Promise<HostileHost> {
  // An option of net.connect. The transport passes it on, although its types do not declare it.
  const dialOpts: object = options.localIp === undefined ? {} : { localAddress: options.localIp }
  const host = await startBareHost({
    addresses: { listen: options.listen === true ? ['/ip4/127.0.0.1/tcp/0'] : [] },
    transports: [tcp({ dialOpts: { ...dialOpts } })],
    connectionEncrypters: [noiseThat(options.first)],
    streamMuxers: [options.muxer === 'mplex' ? mplex() : yamux({ maxOutboundStreams: 100_000 })],
    services: { identify: identify() },
  })
  const heard: RPC[] = []
  const first = Promise.withResolvers<void>()
  await host.handle(MESHSUB, (stream: Stream) => {
    const frames = createFrameAssembler({ maxFrameBytes: 1 << 26, maxBacklogBytes: 1 << 27 })
    stream.addEventListener('message', ({ data }: StreamMessageEvent) => {
      frames.push(data)
      for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
        heard.push(RPC.decode(frame))
        first.resolve()
      }
    })
  })
  const connect = (address: string): Promise<Connection> => host.dial(multiaddr(address))
  const openGossip = async (connection: Connection): Promise<GossipStream> => {
    const stream = await connection.newStream(MESHSUB, { maxOutboundStreams: 100_000 })
    const sendBytes = (...frames: Uint8Array[]): void => {
      stream.send(new Uint8Array(Buffer.concat(frames)))
    }
    return {
      stream,
      connection,
      sendBytes,
      send: (...rpcs) => sendBytes(...rpcs.map((rpc) => frameRpc(encodeRpc(rpc)))),
    }
  }
  return {
    host,
    peerId: host.peerId.toString(),
    address: host.getMultiaddrs()[0]?.toString() ?? '',
    heard,
    connect,
    openGossip,
    async join(address, topics) {
      const gossip = await openGossip(await connect(address))
      gossip.send({ subscriptions: topics.map((topic) => [topic, true] as const) })
      await untilAborted(first.promise, AbortSignal.timeout(JOIN_TIMEOUT_MS))
      return gossip
    },
    stop: async () => host.stop(),
  }
}

function noiseThat(sendsFirst: Uint8Array | undefined): ReturnType<typeof noise> {
  return (components) => {
    const encrypter = noise()(components)
    const secureOutbound = encrypter.secureOutbound.bind(encrypter)
    encrypter.secureOutbound = async (...args) => {
      const secured = await secureOutbound(...args)
      if (sendsFirst !== undefined) secured.connection.send(sendsFirst)
      return secured
    }
    return encrypter
  }
}

/** Protocol names in multistream-select's encoding. */
export function namesOf(...protocols: string[]): Uint8Array {
  return concatBytes(...protocols.map((name) => Buffer.from(`${String.fromCharCode(name.length + 1)}${name}\n`)))
}

export function muxerOf(connection: Connection): RawMuxer {
  if (!('muxer' in connection)) throw new Error('this connection has no multiplexer')
  // Members that yamux's types omit.
  return connection.muxer as RawMuxer
}

export function socketOf(connection: Connection): Socket {
  const socket = socketUnder(connection)
  if (socket === undefined) throw new Error('this connection has no socket')
  return socket
}
