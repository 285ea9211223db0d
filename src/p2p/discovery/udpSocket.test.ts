import { createSocket } from 'node:dgram'
import { networkInterfaces } from 'node:os'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { openUdpSocket, type UdpSocket } from './udpSocket.ts'

const clock = new ManualClock(1)
async function bound(port = 0, isAllowed = (_ip: string): boolean => true, ip = '127.0.0.1'): Promise<UdpSocket> {
  const socket = await openUdpSocket({ clock }, { ip, port, isAllowed })
  onTestFinished(() => socket.close())
  return socket
}

/** Resolves when the socket has received a packet that ends in `last`. Returns all sizes up to it. */
function until(socket: UdpSocket, last: number): Promise<number[]> {
  const sizes: number[] = []
  return new Promise((resolve) => {
    socket.onPacket((packet) => {
      sizes.push(packet.length)
      if (packet.at(-1) === last) resolve(sizes)
    })
  })
}

/** With its interface: `fe80::1%eth0`. */
const [linkLocal] = Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
  (addresses ?? []).flatMap(({ address }) => (address.startsWith('fe80:') ? [`${address}%${name}`] : [])),
)

describe('openUdpSocket', () => {
  it('drops packets over 1280 bytes and packets from disallowed IPs', async () => {
    const b = await bound()
    const a = await bound()
    const sizes = until(b, 9)
    a.send('127.0.0.1', b.port, new Uint8Array(1281))
    a.send('127.0.0.1', b.port, new Uint8Array(1280).fill(9))
    expect(await sizes).toEqual([1280])

    const picky = await bound(0, (ip) => ip !== '127.0.0.1')
    const others: number[] = []
    picky.onPacket((packet) => others.push(packet.length))
    const echo = until(b, 7)
    picky.send('127.0.0.1', b.port, new Uint8Array(3).fill(7))
    a.send('127.0.0.1', picky.port, Uint8Array.of(1))
    a.send('127.0.0.1', b.port, Uint8Array.of(7))
    expect(await echo).toEqual([1])
    expect(others).toEqual([])
  })

  it.skipIf(linkLocal === undefined)(
    'drops packets from a link-local address (skipped where no interface has one)',
    async () => {
      const ips: string[] = []
      const socket = await bound(0, (ip) => ips.push(ip) > 0, '::')
      const sizes = until(socket, 9)
      const neighbour = createSocket('udp6')
      await new Promise<void>((resolve) => neighbour.bind(0, linkLocal, resolve))
      const send = (to: string, byte: number): Promise<void> =>
        new Promise((resolve) => neighbour.send(Uint8Array.of(byte), socket.port, to, () => resolve()))
      await send(linkLocal ?? '', 1)
      neighbour.close()
      const other = await bound()
      other.send('127.0.0.1', socket.port, Uint8Array.of(9))
      expect(await sizes).toEqual([1])
      expect(ips).toEqual(['127.0.0.1'])
    },
  )

  it('limits packets per address', async () => {
    const b = await bound()
    let count = 0
    b.onPacket(() => count++)
    const sender = createSocket('udp4')
    const send = (): Promise<void> =>
      new Promise((resolve) => sender.send(Uint8Array.of(1), b.port, '127.0.0.1', () => resolve()))
    for (let i = 0; i < 400; i++) await send()
    expect(count).toBeLessThanOrEqual(300)
    let isThere = false
    const arrived = until(b, 5).then(() => {
      isThere = true
    })
    // Packets in the socket's buffer use the new tokens first.
    while (!isThere) {
      await clock.advance(1_000)
      await new Promise<void>((resolve) => sender.send(Uint8Array.of(5), b.port, '127.0.0.1', () => resolve()))
    }
    await arrived
    sender.close()
  })

  it('limits packets of all addresses together', async () => {
    let read = 0
    let taken = 0
    const socket = await bound(0, () => ++read > 0, '0.0.0.0')
    socket.onPacket(() => taken++)
    for (let host = 2; host < 8; host++) {
      const sender = createSocket('udp4')
      await new Promise<void>((resolve) => sender.bind(0, `127.0.0.${host}`, resolve))
      for (const before = read; read < before + 200; ) {
        const next = read
        await new Promise<void>((resolve) => sender.send(Uint8Array.of(1), socket.port, '127.0.0.1', () => resolve()))
        while (read === next) await new Promise((resolve) => setImmediate(resolve))
      }
      sender.close()
    }
    expect([read, taken]).toEqual([1_200, 1_000])
  })
})
