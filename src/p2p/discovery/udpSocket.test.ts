import { createSocket, Socket } from 'node:dgram'
import { networkInterfaces } from 'node:os'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { hasIpv6 } from '../testUtils/hasIpv6.ts'
import { openUdpSocket, type UdpSocket } from './udpSocket.ts'

const clock = new ManualClock(1)
async function bound(port = 0, isAllowed = (_ip: string): boolean => true, ip = '127.0.0.1'): Promise<UdpSocket> {
  const socket = await openUdpSocket({ clock }, { ip, port, isAllowed })
  onTestFinished(() => socket.close())
  return socket
}

/**
 * Resolves when the socket has received a packet that ends in `last`. Returns all sizes up to it. Only packets of these
 * senders count, since any program may send to the port.
 */
function until(socket: UdpSocket, senders: readonly { port: number }[], last: number): Promise<number[]> {
  const sizes: number[] = []
  return new Promise((resolve) => {
    socket.onPacket((packet, _ip, port) => {
      if (!senders.some((sender) => sender.port === port)) return
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
    const sizes = until(b, [a], 9)
    a.send('127.0.0.1', b.port, new Uint8Array(1281))
    a.send('127.0.0.1', b.port, new Uint8Array(1280).fill(9))
    expect(await sizes).toEqual([1280])

    const picky = await bound(0, (ip) => ip !== '127.0.0.1')
    const others: number[] = []
    picky.onPacket((packet) => others.push(packet.length))
    const echo = until(b, [a, picky], 7)
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
      const neighbour = createSocket('udp6')
      await new Promise<void>((resolve) => neighbour.bind(0, linkLocal, resolve))
      const other = await bound()
      const sizes = until(socket, [other, neighbour.address()], 9)
      const send = (to: string, byte: number): Promise<void> =>
        new Promise((resolve) => neighbour.send(Uint8Array.of(byte), socket.port, to, () => resolve()))
      await send(linkLocal ?? '', 1)
      neighbour.close()
      other.send('127.0.0.1', socket.port, Uint8Array.of(9))
      expect(await sizes).toEqual([1])
      expect(new Set(ips)).toEqual(new Set(['127.0.0.1']))
    },
  )

  it.skipIf(!hasIpv6)('takes another port if the one that the system chose for IPv6 is in use on IPv4', async () => {
    const bind = Socket.prototype.bind
    const taken = createSocket('udp4')
    taken.on('error', () => {})
    onTestFinished(() => void taken.close())
    // Another program takes the port on IPv4 right before us.
    const spy = vi.spyOn(Socket.prototype, 'bind').mockImplementation(function (this: Socket, options, done) {
      if (options.address === '0.0.0.0') {
        spy.mockRestore()
        bind.call(taken, options)
      }
      return bind.call(this, options, done)
    })
    onTestFinished(() => spy.mockRestore())
    const socket = await bound(0, undefined, '::')
    expect(socket).toMatchObject({ hasIp4: true, hasIp6: true })
    expect(socket.port).not.toBe(taken.address().port)
  })

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
    const arrived = until(b, [sender.address()], 5).then(() => {
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
    const isOwn = (ip: string): boolean => /^127\.0\.0\.[2-7]$/.test(ip)
    const socket = await bound(0, (ip) => isOwn(ip) && ++read > 0, '0.0.0.0')
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
