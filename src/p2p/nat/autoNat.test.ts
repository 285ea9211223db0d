import { noise } from '@chainsafe/libp2p-noise'
import { generateKeyPair } from '@libp2p/crypto/keys'
import type { ConnectionGater, PeerId } from '@libp2p/interface'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { multiaddr } from '@multiformats/multiaddr'
import { createLibp2p, type Libp2p } from 'libp2p'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { silentComponentLogger } from '../host/libp2pLogger.ts'
import { readFrame } from '../streams.ts'
import { nodeInTest } from '../testUtils/inTest.ts'
import { closedPort } from '../testUtils/rawServer.ts'
import { until } from '../testUtils/testNode.ts'
import { AUTONAT_PROTOCOL, createAutoNat, DIAL_TIMEOUT_MS, isPublicIp } from './autoNat.ts'
import { createDialBack } from './dialBack.ts'

async function startHost(listen: string[] = []): Promise<Libp2p> {
  const host = await createLibp2p({
    privateKey: await generateKeyPair('secp256k1'),
    logger: silentComponentLogger,
    addresses: { listen },
    transports: [tcp()],
    connectionEncrypters: [noise()],
    streamMuxers: [yamux()],
    // Five a second are its own limit.
    connectionManager: { inboundConnectionThreshold: 100 },
    connectionMonitor: { enabled: false },
  })
  onTestFinished(async () => host.stop())
  return host
}

/** One that serves on loopback, where nothing is public. */
async function startServer(gater: ConnectionGater = {}, dialable = true) {
  const clock = new ManualClock()
  const dialBack = createDialBack({ gater }, { security: ['noise'] })
  onTestFinished(dialBack.stop)
  const host = await startHost(['/ip4/127.0.0.1/tcp/0'])
  const dials: string[][] = []
  const answer = createAutoNat({
    clock,
    isDialable: () => dialable,
    dialBack(peer, addresses, signal) {
      dials.push(addresses.map(String))
      return dialBack.dial(peer, addresses, signal)
    },
  })
  await host.handle(AUTONAT_PROTOCOL, answer)
  return { host, clock, dials, address: String(host.getMultiaddrs()[0]) }
}

const field = (key: number, ...content: number[]): number[] => [key * 8 + 2, content.length, ...content]
/** As go-libp2p writes it: type DIAL, and the peer with its id and addresses. */
function request(id: PeerId | undefined, addresses: string[]): number[] {
  const info = id === undefined ? [] : field(1, ...id.toMultihash().bytes)
  for (const address of addresses) info.push(...field(2, ...multiaddr(address).bytes))
  return [8, 0, ...field(2, ...field(1, ...info))]
}
/** As a varint. */
const length = (message: number[]): number[] =>
  message.length < 128 ? [message.length] : [(message.length % 128) + 128, message.length >> 7]
const response = (status: number[], text = '', address?: string): number[] => [
  ...[8, 1],
  ...field(
    3,
    ...[8, ...status],
    ...(text === '' ? [] : field(2, ...Buffer.from(text))),
    ...(address === undefined ? [] : field(3, ...multiaddr(address).bytes)),
  ),
]
const OK = [0]
const DIAL_ERROR = [100]
const REFUSED = [101]
const BAD_REQUEST = [200, 1]

async function ask(peer: Libp2p, serverAddress: string, message: number[]): Promise<number[]> {
  const stream = await peer.dialProtocol(multiaddr(serverAddress), AUTONAT_PROTOCOL)
  const answer = readFrame(stream, 4096, AbortSignal.timeout(10_000))
  stream.send(Uint8Array.from([...length(message), ...message]))
  return [...(await answer)]
}

describe('a peer that asks whether it can be reached', () => {
  it('is told so, dialled under another peer id where it comes from', async () => {
    const { address, dials, host } = await startServer()
    const peer = await startHost(['/ip4/127.0.0.1/tcp/0'])
    const callers: PeerId[] = []
    peer.addEventListener('connection:open', ({ detail }) => callers.push(detail.remotePeer))
    const port = /tcp\/(\d+)/.exec(String(peer.getMultiaddrs()[0]))?.[1]
    const told = [`/ip4/198.51.100.7/tcp/${port}`, '/ip4/127.0.0.1/udp/1/quic-v1', '/dns4/example.org/tcp/1']
    const answer = await ask(peer, address, request(peer.peerId, told))
    expect(answer).toEqual(response(OK, '', `/ip4/127.0.0.1/tcp/${port}`))
    const [own] = host.getConnections()
    expect(dials).toEqual([[`/ip4/127.0.0.1/tcp/${port}`, String(own?.remoteAddr).replace(/\/p2p\/.*/, '')]])
    await until('the connection back', () => callers.length === 2)
    expect(callers[1]?.equals(host.peerId)).toBe(false)
    await until('its end', () => peer.getConnections().length === 1)
    expect(own?.status).toBe('open')
  })

  it('learns that it cannot be only when the time for it is over', async () => {
    const { address, clock, dials } = await startServer()
    const peer = await startHost()
    let answer: number[] | undefined
    const asking = ask(peer, address, request(peer.peerId, [`/ip4/127.0.0.1/tcp/${await closedPort()}`])).then(
      (got) => {
        answer = got
      },
    )
    await until('the dial', () => dials.length === 1)
    await clock.advance(DIAL_TIMEOUT_MS - 1)
    // An answer sent by now would come first.
    await ask(peer, address, [8, 0])
    expect(answer).toBeUndefined()
    await clock.advance(1)
    await asking
    expect(answer).toEqual(response(DIAL_ERROR, 'dial failed'))
  })

  it('is not dialled where our gater refuses it', async () => {
    const { address, clock, dials } = await startServer({ denyDialPeer: () => true })
    const peer = await startHost(['/ip4/127.0.0.1/tcp/0'])
    const asking = ask(peer, address, request(peer.peerId, peer.getMultiaddrs().map(String)))
    await until('the dial', () => dials.length === 1)
    await clock.advance(DIAL_TIMEOUT_MS)
    expect(await asking).toEqual(response(DIAL_ERROR, 'dial failed'))
    expect(peer.getConnections()).toHaveLength(1)
  })

  it('is dialled five times a minute, and all peers together ten times', async () => {
    const { address, clock } = await startServer()
    const peers = await Promise.all([1, 2, 3].map(() => startHost(['/ip4/127.0.0.1/tcp/0'])))
    const askAll = async (peer: Libp2p | undefined, times: number): Promise<string[]> => {
      const answers: string[] = []
      for (let n = 0; n < times && peer !== undefined; n++) {
        const answer = await ask(peer, address, request(peer.peerId, peer.getMultiaddrs().map(String)))
        answers.push(answer.join() === response(REFUSED, 'too many dials').join() ? 'too many' : 'dialled')
      }
      return answers
    }
    const five = Array.from({ length: 5 }, () => 'dialled')
    expect(await askAll(peers[0], 6)).toEqual([...five, 'too many'])
    expect(await askAll(peers[1], 5)).toEqual(five)
    expect(await askAll(peers[2], 1)).toEqual(['too many'])
    await clock.advance(12_000)
    expect(await askAll(peers[0], 2)).toEqual(['dialled', 'too many'])
    expect(await askAll(peers[2], 1)).toEqual(['dialled'])
  })

  it('has nobody else dialled', async () => {
    const { address, dials, host } = await startServer()
    const peer = await startHost()
    expect(await ask(peer, address, request(host.peerId, ['/ip4/127.0.0.1/tcp/1']))).toEqual(
      response(BAD_REQUEST, 'peer id mismatch'),
    )
    expect(await ask(peer, address, [8, 0])).toEqual(response(BAD_REQUEST, 'missing peer info'))
    expect(dials).toEqual([])
  })

  it.each([
    ['another message', [8, 1]],
    ['garbage', [0x12, 0x7f]],
  ])('gets no answer to %s', async (_what, message) => {
    const { address } = await startServer()
    await expect(ask(await startHost(), address, message)).rejects.toThrow()
  })

  it('is served by a node with a router to map ports on, and is refused from an address that is not public', async () => {
    const nowhere = { findGateway: () => Promise.reject(new Error('no router')) }
    const peer = await startHost()
    const { address } = await nodeInTest({ nat: true }, nowhere)
    const asking = ask(peer, address, request(peer.peerId, ['/ip4/127.0.0.1/tcp/1']))
    expect(await asking).toEqual(response(REFUSED, 'refusing to dial peer with blocked observed address'))
    const other = await nodeInTest()
    await expect(ask(peer, other.address, request(peer.peerId, []))).rejects.toMatchObject({
      name: 'UnsupportedProtocolError',
    })
  })
})

it.each([
  ['8.8.8.8', true],
  ['172.32.0.1', true],
  ['2a00::1', true],
  ['127.0.0.1', false],
  ['10.1.2.3', false],
  ['100.64.0.1', false],
  ['169.254.169.254', false],
  ['192.168.1.1', false],
  ['203.0.113.7', false],
  ['224.0.0.1', false],
  ['255.255.255.255', false],
  ['0.0.0.0', false],
  ['::1', false],
  ['fe80::1', false],
  ['fd00::1', false],
  ['ff02::1', false],
  ['2001:db8::1', false],
])('%s is public: %s', (ip, isPublic) => expect(isPublicIp(ip)).toBe(isPublic))
