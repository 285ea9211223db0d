import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { isIP } from 'node:net'
import type { Clock } from '../../lib/clock.ts'
import { isErrno, UsageError } from '../../lib/errors.ts'
import { createTokenBuckets, TokenBucket } from '../../lib/tokenBucket.ts'

export interface UdpSocketOptions {
  ip: string
  /** 0: the system chooses a port. */
  port: number
  /** Packets to and from other IPs are dropped. */
  isAllowed(ip: string): boolean
}

/** discv5: "packets larger than 1280 bytes must be rejected". */
const MAX_PACKET_BYTES = 1280
/**
 * Packets a second, per IP and in total. Every second packet may request a handshake of about 5 ms, so a flood takes at
 * most half a core. A lookup causes about 60 packets, and several nodes may share one IP: hence the bursts.
 */
const PER_IP_RATE = { perSecond: 50, burst: 300 }
const TOTAL_RATE = { perSecond: 200, burst: 1000 }
const REMEMBERED_IPS = 1024
const RECEIVE_BUFFER_BYTES = 256 * 1024
/** Number of ports that the system may choose until one is free on both families. */
const PORT_ATTEMPTS = 10

export type UdpSocket = Awaited<ReturnType<typeof openUdpSocket>>

/**
 * Opens the discovery port, on both IP families when the IP is `::`. discv5's own transport would end the process when
 * the port is in use, cannot report a port chosen by the system, and accepts packets from any IP. Throws UsageError
 * when the port cannot be bound.
 */
export async function openUdpSocket(modules: { clock: Clock }, options: UdpSocketOptions) {
  const { clock } = modules
  let onPacket: ((packet: Uint8Array, ip: string, port: number) => void) | undefined
  const total = new TokenBucket(clock, TOTAL_RATE)
  const bucketOf = createTokenBuckets(clock, PER_IP_RATE, REMEMBERED_IPS)

  const receive = (packet: Uint8Array, from: RemoteInfo): void => {
    if (packet.length > MAX_PACKET_BYTES || from.port === 0) return
    // A link-local neighbour such as `fe80::1%eth0`. No record can hold such an address, and it cannot be parsed.
    if (from.address.includes('%')) return
    if (!options.isAllowed(from.address) || !bucketOf(from.address).tryTake() || !total.tryTake()) return
    onPacket?.(packet, from.address, from.port)
  }

  const { ip, port } = options
  const sockets: SomeSockets = ip === '::' ? await bindBoth(port) : [await bind(ip, port)]
  const [first, second] = sockets
  const isFirstIp6 = isIP(ip) === 6
  const ip4 = isFirstIp6 ? second : first
  const ip6 = isFirstIp6 ? first : undefined
  for (const socket of sockets) {
    socket.on('message', receive)
    // For example an ICMP error for one of our packets. It must not end discovery.
    socket.on('error', () => {})
  }
  let isOpen = true
  return {
    /** The bound port, the same for both families. */
    port: first.address().port,
    hasIp4: ip4 !== undefined,
    hasIp6: ip6 !== undefined,
    /** Packets that cannot be sent are lost, as usual for UDP. */
    send(ip: string, toPort: number, packet: Uint8Array): void {
      const socket = isIP(ip) === 6 ? ip6 : ip4
      if (!isOpen || socket === undefined || toPort === 0 || !options.isAllowed(ip)) return
      socket.send(packet, toPort, ip, () => {})
    },
    onPacket(listener: ((packet: Uint8Array, ip: string, port: number) => void) | undefined): void {
      onPacket = listener
    },
    async close(): Promise<void> {
      if (!isOpen) return
      isOpen = false
      onPacket = undefined
      await Promise.all(sockets.map(closed))
    },
  }
}

type SomeSockets = [Socket, ...Socket[]]

const closed = (socket: Socket): Promise<void> => new Promise((resolve) => socket.close(() => resolve()))

/** IPv6 and, if possible, IPv4: a machine may lack it, or the given port may be in use on it. */
async function bindBoth(port: number): Promise<SomeSockets> {
  for (let attempt = 1; ; attempt++) {
    const ip6 = await bind('::', port)
    try {
      return [ip6, await bind('0.0.0.0', ip6.address().port)]
    } catch (error) {
      // The port that the system chose is free on IPv6 only.
      const isTaken = error instanceof Error && isErrno(error.cause, 'EADDRINUSE')
      if (port !== 0 || attempt === PORT_ATTEMPTS || !isTaken) return [ip6]
      await closed(ip6)
    }
  }
}

async function bind(ip: string, port: number): Promise<Socket> {
  const socket = createSocket({
    type: isIP(ip) === 6 ? 'udp6' : 'udp4',
    ipv6Only: isIP(ip) === 6,
    recvBufferSize: RECEIVE_BUFFER_BYTES,
  })
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject)
      socket.bind({ port, address: ip }, () => {
        socket.off('error', reject)
        resolve()
      })
    })
    return socket
  } catch (cause) {
    socket.close()
    throw new UsageError(
      `cannot listen for discovery on ${ip}:${port}, UDP (--p2p.listen.ip, --p2p.listen.udp, or --p2p.no-discovery)`,
      { cause },
    )
  }
}
