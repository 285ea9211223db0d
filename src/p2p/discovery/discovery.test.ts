import { randomBytes } from 'node:crypto'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { publicKeyOf } from '../../lib/secp256k1.ts'
import { until } from '../../lib/testUtils/until.ts'
import { enodeOf, type StartedDiscovery as Started, startDiscovery as start } from '../testUtils/discovery.ts'
import { hasIpv6 } from '../testUtils/hasIpv6.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { peerRecord } from '../testUtils/signedRecord.ts'
import { createUdpLink } from '../testUtils/udpLink.ts'
import { FAST_INTERVAL_MS } from './connector.ts'
import { FIRST_ROUND_MS } from './discovery.ts'
import { parseRecord } from './discv5.ts'
import type { NodeRecord } from './nodeRecord.ts'
import { MAX_STORED_RECORDS } from './nodeStore.ts'
import { MAX_RENEWAL_PAUSES, RENEWAL_PAUSE_MS } from './ownNode.ts'
import { openUdpSocket, type UdpSocket } from './udpSocket.ts'

async function socket(): Promise<UdpSocket> {
  const opened = await openUdpSocket({ clock: systemClock }, { ip: '127.0.0.1', port: 0, isAllowed: () => true })
  onTestFinished(() => opened.close())
  return opened
}

const enodeAt = (record: NodeRecord, udpPort = record.udpPort, ip = '127.0.0.1'): string =>
  enodeOf(record.publicKey, `${ip}:0?discport=${udpPort}`)

describe('discovery under attack', () => {
  it('survives garbage, and handshake packets with changed bytes', async () => {
    const victim = await start([])
    const { udpPort: victimPort = 0 } = victim.record
    // Forwards each packet between the two, with modified copies of it before and after.
    const relay = await socket()
    let passed = 0
    let clientPort = 0
    relay.onPacket((packet, _ip, port) => {
      if (port !== victimPort) clientPort = port
      const to = port === victimPort ? clientPort : victimPort
      for (const at of [0, 15, 16, 23, 24, 38, 55, 71, 100, packet.length - 1]) {
        const changed = Uint8Array.from(packet)
        const index = Math.min(at, packet.length - 1)
        changed[index] = (changed[index] ?? 0) ^ 0x11
        relay.send('127.0.0.1', to, changed)
      }
      relay.send('127.0.0.1', to, packet)
      relay.send('127.0.0.1', to, packet.subarray(0, packet.length >> 1))
      passed += 1
    })
    await start([enodeAt(victim.record, relay.port)])
    await until('a handshake through the relay', () => passed >= 6)

    const sender = await socket()
    for (let size = 0; size < 200; size++) sender.send('127.0.0.1', victimPort, randomBytes(size * 6))

    const honest = await start([enodeAt(victim.record)])
    await until('found each other', () =>
      [honest.found, victim.found].every((found, i) =>
        found.some((peer) => peer.nodeId === (i === 0 ? victim : honest).record.nodeId),
      ),
    )
  })

  it('reports an honest node again after records of others evicted it', async () => {
    const boot = await start([])
    const honest = await start([boot.record.text])
    const others = Array.from({ length: MAX_STORED_RECORDS }, () => peerRecord())
    const clock = new ManualClock(Date.now())
    const node = await start([boot.record.text, honest.record.text, ...others], { clock })
    expect(node.found).toHaveLength(2 + others.length)
    // Not every lookup finds it.
    const isFoundAgain = () => node.found.slice(2).some(({ nodeId }) => nodeId === honest.record.nodeId)
    await until('told again', async () => {
      await clock.advance(FAST_INTERVAL_MS)
      return isFoundAgain()
    })
  })
})

describe('discovery', () => {
  it('continues after a record with an invalid port', async () => {
    const odd = peerRecord({ udp: Uint8Array.of(1, 2, 3) })
    const boot = await start([odd])
    const node = await start([boot.record.text])
    await until('told of the odd one', () => node.found.some(({ text }) => text === odd))
    const before = node.lookups()
    await until('the lookup after the next', () => node.lookups() >= before + 2)
  })

  it('ignores itself among the bootnodes', async () => {
    const privateKey = new Uint8Array(randomBytes(32))
    const first = await start([], { privateKey })
    const texts = [first.discovery.localEnr(), enodeAt(first.record)]
    await first.discovery.stop()
    const { logger, lines } = recordedLog('info')
    const again = await start(texts, { privateKey, logger })
    expect(lines.filter((line) => line.includes('contains this node itself'))).toHaveLength(2)
    expect(again.discovery.table()).toEqual([])
    expect(again.found).toEqual([])
  })

  it('renews handshakes while peers are wanted, with the same record', async () => {
    const openSocket = createUdpLink().open
    const other = await start([], { openSocket })
    const clock = new ManualClock(Date.now())
    const { discovery, record } = await start([other.discovery.localEnr()], { clock, openSocket })
    await clock.advance(0)
    await until('known to the other', () => other.discovery.table().length === 1)
    await clock.advance(30_000)
    await until('the same table', () => discovery.table()[0]?.nodeId === other.record.nodeId)
    expect(discovery.localEnr()).toBe(record.text)
  })

  it('finds a node again at the address to which it has moved', async () => {
    const openSocket = createUdpLink().open
    const other = await start([], { openSocket })
    const privateKey = new Uint8Array(randomBytes(32))
    const node = await start([other.record.text], { openSocket, privateKey })
    const found = (): (number | undefined)[] => other.found.map(({ udpPort }) => udpPort)
    await until('found', () => found().includes(node.record.udpPort))
    await node.discovery.stop()
    const moved = await start([other.record.text], { openSocket, privateKey })
    await until('found again', () => found().includes(moved.record.udpPort))
    expect(found()).toEqual([node.record.udpPort, moved.record.udpPort])
    expect(other.discovery.table().map(({ udpPort }) => udpPort)).toEqual([moved.record.udpPort])
  })

  it('continues without a bootnode whose address names an interface', async () => {
    const { logger, lines } = recordedLog('debug')
    await start([enodeOf(publicKeyOf(randomBytes(32)), '[fe80::1%eth0]:30303')], { logger })
    await until('the first round', () => lines.some((line) => line.includes('Bootnode cannot be contacted')))
  })

  it('warns when no bootnode answers', async () => {
    const stopped = await start([])
    const { logger, lines } = recordedLog('warn')
    const text = stopped.discovery.localEnr()
    await stopped.discovery.stop()
    const clock = new ManualClock(Date.now())
    await start([text], { clock, logger })
    await clock.advance(59_000)
    expect(lines).toEqual([])
    await clock.advance(1_000)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain('No bootnode answers')
  })

  it('does not warn when a bootnode answered and then stopped', async () => {
    const openSocket = createUdpLink().open
    const boot = await start([], { openSocket })
    const { logger, lines } = recordedLog('warn')
    const clock = new ManualClock(Date.now())
    const node = await start([boot.record.text], { clock, logger, openSocket })
    await clock.advance(0)
    await until('the handshake', () => node.discovery.sessions() === 1)
    await boot.discovery.stop()
    // Its last lookups have noticed the silence.
    const before = node.lookups()
    await until('two lookups without an answer', async () => {
      await clock.advance(FAST_INTERVAL_MS / 100)
      return node.lookups() >= before + 3
    })
    await clock.advance(60_000)
    expect(lines).toEqual([])
  })
})

it.each([
  ['by its record', '127.0.0.1', (boot: Started) => boot.record.text],
  ['by its key and address', '127.0.0.1', (boot: Started) => enodeAt(boot.record)],
  ['by its key and address, while they listen on all interfaces', '0.0.0.0', (boot: Started) => enodeAt(boot.record)],
])('a node finds another in its first round, given the bootnode %s', async (_how, listenIp, addressOf) => {
  const link = createUdpLink()
  const clock = new ManualClock(Date.now())
  const setup = { listenIp, clock, openSocket: link.open, requestTimeoutMs: 60_000 }
  const beforeSecondRound = async (): Promise<void> => {
    for (let passedMs = 0; passedMs + RENEWAL_PAUSE_MS < FIRST_ROUND_MS; passedMs += RENEWAL_PAUSE_MS) {
      await clock.advance(RENEWAL_PAUSE_MS)
      await link.quiet()
    }
  }
  // It follows another chain, so that it is not a peer itself.
  const boot = await start([], { ...setup, chainId: 10n })
  const a = await start([addressOf(boot)], setup)
  await beforeSecondRound()
  const b = await start([addressOf(boot)], setup)
  await beforeSecondRound()
  expect(b.found.map(({ nodeId }) => nodeId)).toEqual([a.record.nodeId])
})

it('renews its sessions when it learns its address, after the answers to its requests', async () => {
  const link = createUdpLink()
  const clock = new ManualClock(Date.now())
  const { logger, lines } = recordedLog('info')
  const setup = { listenIp: '0.0.0.0', clock, openSocket: link.open, requestTimeoutMs: 60_000 }
  const boot = await start([], setup)
  const { discovery } = await start([enodeAt(boot.record)], { ...setup, logger })
  await clock.advance(0)
  await until('it learns its address', () => lines.some((line) => line.includes('announces a new address')))
  // Its request for the bootnode's record stays without an answer.
  link.cut()
  await clock.advance(RENEWAL_PAUSE_MS * (MAX_RENEWAL_PAUSES - 1))
  expect(discovery.sessions()).toBe(1)
  await clock.advance(RENEWAL_PAUSE_MS)
  expect(discovery.sessions()).toBe(0)
})

describe('IPv6', () => {
  const enode6Of = (record: NodeRecord): string => enodeAt(record, record.udpPort, '[::1]')

  it.skipIf(!hasIpv6)(
    'nodes with IPv6 only find each other and announce IPv6 (skipped where loopback has no ::1)',
    async () => {
      const boot = await start([], { listenIp: '::1' })
      const a = await start([boot.record.text], { listenIp: '::1' })
      const b = await start([enode6Of(boot.record)], { listenIp: '::1' })
      await until('b has found a', () => b.found.some(({ nodeId }) => nodeId === a.record.nodeId))
      expect(a.record).toMatchObject({
        ip: '::1',
        tcpPort: 4006,
        udpPort: a.discovery.listeningPort(),
        alsoAt: undefined,
      })
    },
  )

  it.skipIf(!hasIpv6)(
    'a node with IPv4 and IPv6 learns and announces both addresses (skipped where loopback has no ::1)',
    async () => {
      const [boot, boot6] = [await start([]), await start([], { listenIp: '::1' })]
      const a = await start([enodeAt(boot.record), enode6Of(boot6.record)], { listenIp: '::' })
      const record = (): NodeRecord => parseRecord(a.discovery.localEnr())
      await until('both addresses', () => record().alsoAt !== undefined)
      const udpPort = a.discovery.listeningPort()
      expect(record()).toMatchObject({
        ip: '127.0.0.1',
        tcpPort: 4000,
        udpPort,
        alsoAt: { ip: '::1', tcpPort: 4006, udpPort },
      })
      expect(record().sequence).toBeGreaterThan(a.record.sequence)
    },
  )
})
