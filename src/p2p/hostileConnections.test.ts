import { connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { concatBytes } from '../lib/bytes.ts'
import { until } from '../lib/testUtils/until.ts'
import { DEFAULT_P2P_OPTIONS } from './base/options.ts'
import { INBOUND_LIMITS } from './host/inboundLimits.ts'
import { type HostileHost, type HostileHostOptions, namesOf, startHostileHost } from './hostile/hostileHost.ts'
import { frameRpc } from './hostile/rpcCodec.ts'
import { haltableClock, unhurriedClock } from './testUtils/clocks.ts'
import { offendUntil, startVictims, type Victims } from './testUtils/hostileSetup.ts'
import { TOPIC } from './testUtils/testChain.ts'
import { tcpPortOf } from './testUtils/testNode.ts'

/** Without the loopback exemption, since all hosts of a test are on loopback. */
async function setUp(clock = unhurriedClock()): Promise<Victims> {
  // Many peers on one address would be banned after a second or two.
  const ban = { ...DEFAULT_P2P_OPTIONS.ban, enabled: false }
  const victims = await startVictims({ ipColocationExempt: [], ban }, { clock })
  onTestFinished(victims.stop)
  return victims
}
async function host(options: HostileHostOptions = {}): Promise<HostileHost> {
  const started = await startHostileHost(options)
  onTestFinished(started.stop)
  return started
}
function portOf(victims: Victims): number {
  return tcpPortOf(victims.follower.address)
}
/** A TCP connection that sends nothing. */
function silentSocket(port: number, localAddress: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress })
  socket.on('error', () => {})
  onTestFinished(() => void socket.destroy())
  return socket
}

it.each([
  ['a goodbye', '000300000000000000000000'],
  ['an error', '000300000000000000000002'],
  ['an invalid yamux frame', '010000000000000000000000'],
])('a connection closed by %s during setup leaves no connected peer', async (_what, frame) => {
  const victims = await setUp()
  const first = concatBytes(namesOf('/multistream/1.0.0', '/yamux/1.0.0'), Buffer.from(frame, 'hex'))
  const hostile = await host({ first })
  await hostile.connect(victims.follower.address).catch(() => undefined)
  await until('its end', () => hostile.host.getConnections().length === 0)
  await until('the end here', () => victims.follower.node.connectedPeers().length === 1)
  await victims.expectBlock()
})

describe('connections of one address', () => {
  it('are limited, while other addresses can still connect', async () => {
    const victims = await setUp()
    const port = portOf(victims)
    const sockets = Array.from({ length: 300 }, () => silentSocket(port, '127.0.0.7'))
    const open = () => sockets.filter((socket) => !socket.closed && socket.readyState === 'open').length
    await until(
      'the refusals',
      () => sockets.filter(({ closed }) => closed).length >= 300 - INBOUND_LIMITS.pendingPerIp,
    )
    expect(open()).toBeLessThanOrEqual(INBOUND_LIMITS.pendingPerIp)
    await victims.expectBlock()
    const friend = await host({ localIp: '127.0.0.8' })
    expect((await friend.connect(victims.follower.address)).status).toBe('open')
  })

  it('silent connections from a hundred addresses do not prevent other peers from connecting', async () => {
    const victims = await setUp()
    const port = portOf(victims)
    const silent = Array.from({ length: 500 }, (_, n) => silentSocket(port, `127.0.1.${1 + (n % 100)}`))
    await until('room for others', () => silent.filter(({ closed }) => closed).length >= 100)
    const friend = await host({ localIp: '127.0.0.8' })
    expect((await friend.connect(victims.follower.address)).status).toBe('open')
    await victims.expectBlock()
  })

  it('are limited in handshakes', async () => {
    const victims = await setUp()
    const crowd = await Promise.all(
      Array.from({ length: INBOUND_LIMITS.openPerIp + 4 }, () => host({ localIp: '127.0.0.9' })),
    )
    let refused = 0
    for (const one of crowd) {
      await one.connect(victims.follower.address).catch(() => {
        refused += 1
      })
    }
    expect(refused).toBeGreaterThanOrEqual(4)
    expect(victims.follower.node.connectedPeers().length).toBeLessThanOrEqual(INBOUND_LIMITS.openPerIp + 1)
    await victims.expectBlock()
  })

  it('are slowed down after a hundred reconnections', async () => {
    const { clock, halt } = haltableClock()
    const victims = await setUp(clock)
    const churner = await host({ localIp: '127.0.0.10' })
    let connected = 0
    await halt(async () => {
      for (let n = 0; n < 100; n++) {
        const connection = await churner.connect(victims.follower.address).catch(() => undefined)
        if (connection === undefined) continue
        connected += 1
        connection.abort(new Error('gone'))
      }
    })
    expect(connected).toBeLessThan(60)
    await victims.expectBlock()
    expect(await victims.score(churner.peerId)).toBeGreaterThanOrEqual(0)
  })
})

describe('multistream-select', () => {
  const named = (name: string): Buffer => Buffer.from(`${String.fromCharCode(name.length + 1)}${name}\n`)

  // Each of these would block the event loop for seconds if it were read to its end.
  it.each<[string, Buffer]>([
    ['endless proposals', Buffer.alloc(60_000, named(''))],
    ['endless ls requests', Buffer.alloc(60_000, named('ls'))],
    ['an endless length', Buffer.alloc(60_000, 0x80)],
  ])('closes the connection at %s', async (_what, bytes) => {
    const victims = await setUp()
    const socket = silentSocket(portOf(victims), '127.0.0.11')
    let answered = 0
    socket.on('data', (data) => (answered += data.length))
    socket.write(named('/multistream/1.0.0'))
    await until('the answer', () => answered > 0)
    const silent = silentSocket(portOf(victims), '127.0.0.12')
    await until('another connection', () => silent.readyState === 'open')
    socket.write(bytes)
    await until('its end', () => socket.closed)
    // It ends before the handshake time limit.
    expect(silent.closed).toBe(false)
    expect(answered).toBeLessThan(10_000)
    await victims.expectBlock()
  })
})

it('a static peer is limited and penalised like other peers, but not banned', async () => {
  const friend = await host({ listen: true })
  const victims = await startVictims({ staticPeers: [friend.address] })
  onTestFinished(victims.stop)
  await until('the static peer', () => victims.follower.node.connectedPeers().includes(friend.peerId))
  const [connection] = friend.host.getConnections()
  if (connection === undefined) throw new Error('no connection')
  const gossip = await friend.openGossip(connection)
  gossip.send({ subscriptions: [[TOPIC, true]] })
  const bad = frameRpc(Uint8Array.of(0x1b))
  await offendUntil(
    'the score',
    () => gossip.sendBytes(bad),
    async () => (await victims.score(friend.peerId)) < -100,
  )
  await until('the history', async () => (await victims.count(friend.peerId, 'behaviour', 'bad-rpc')) > 0)
  // Another peer that does the same later is banned. The monitor checked both.
  const unprotected = await host()
  const other = await unprotected.join(victims.follower.address, [TOPIC])
  await victims.banned(unprotected.peerId, () => other.sendBytes(bad))
  expect(await victims.isBanned(friend.peerId)).toBe(false)
  expect(victims.follower.node.connectedPeers()).toContain(friend.peerId)
})
