import type { Connection, PeerId, Stream } from '@libp2p/interface'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { equalBytes } from '../../lib/bytes.ts'
import { type Clock, sleep } from '../../lib/clock.ts'
import { parseCidr, parseIp, subnetContains } from '../../lib/ipNet.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { ipOf, tcpMultiaddr } from '../host/multiaddrs.ts'
import { type Readable, readFrame, type Writable, writeAll } from '../streams.ts'
import { TokenBucket } from '../sync/tokenBucket.ts'
import { type DialAnswer, decodeDialRequest, encodeDialAnswer, STATUS } from './autoNatMessages.ts'

/** libp2p specs, autonat-v1: a peer asks to be dialled, and so learns whether others can reach it. */
export const AUTONAT_PROTOCOL = '/libp2p/autonat/1.0.0'
export const MAX_AUTONAT_STREAMS = 2
/** op-node: 10 dials a minute, 5 of them for one peer (p2p/host.go, AutoNATServiceRateLimit). */
const DIALS_PER_MINUTE = 10
const DIALS_PER_MINUTE_OF_PEER = 5
const PEERS_REMEMBERED = 1_000
/** go-libp2p's (p2p/host/autonat). */
const MAX_MESSAGE_BYTES = 4096
const MAX_ADDRESSES = 16
export const DIAL_TIMEOUT_MS = 15_000
const STREAM_TIMEOUT_MS = 60_000

export interface AutoNatModules {
  clock: Pick<Clock, 'now' | 'setTimeout'>
  /** Where the peer was reached; rejects when it was not, at the latest when the signal aborts. */
  dialBack(peer: PeerId, addresses: Multiaddr[], signal: AbortSignal): Promise<Multiaddr>
  /** Whether strangers may have that dialled. */
  isDialable(ip: string): boolean
}

/**
 * Answers peers that ask whether they can be reached. Nobody but the one that asks is dialled, and nowhere but at the
 * address that it comes from: who else would be, could be attacked or looked at from here.
 */
export function createAutoNat(
  modules: AutoNatModules,
): (
  stream: Readable & Writable & Pick<Stream, 'abort'>,
  connection: Pick<Connection, 'remotePeer' | 'remoteAddr'>,
) => Promise<void> {
  const { clock, dialBack, isDialable } = modules
  const everyone = new TokenBucket(clock, DIALS_PER_MINUTE / 60, DIALS_PER_MINUTE)
  const peers = new LruMap<string, TokenBucket>(PEERS_REMEMBERED)

  const mayDial = (peer: string): boolean => {
    const bucket = peers.get(peer) ?? new TokenBucket(clock, DIALS_PER_MINUTE_OF_PEER / 60, DIALS_PER_MINUTE_OF_PEER)
    peers.set(peer, bucket)
    return bucket.tryTake() && everyone.tryTake()
  }
  const answer = async (
    request: Uint8Array,
    { remotePeer, remoteAddr }: Pick<Connection, 'remotePeer' | 'remoteAddr'>,
    signal: AbortSignal,
  ): Promise<DialAnswer> => {
    const asked = decodeDialRequest(request)
    if (asked === undefined) return { status: STATUS.badRequest, text: 'missing peer info' }
    if (asked.id !== undefined && !equalBytes(asked.id, remotePeer.toMultihash().bytes)) {
      return { status: STATUS.badRequest, text: 'peer id mismatch' }
    }
    const ip = ipOf(remoteAddr)
    if (ip === undefined || !isDialable(ip)) {
      return { status: STATUS.dialRefused, text: 'refusing to dial peer with blocked observed address' }
    }
    const ports = new Set([...asked.addresses.slice(0, MAX_ADDRESSES).map(portOf), portOf(remoteAddr.bytes)])
    ports.delete(undefined)
    if (!mayDial(remotePeer.toString())) return { status: STATUS.dialRefused, text: 'too many dials' }
    const over = sleep(clock, DIAL_TIMEOUT_MS, signal)
    over.catch(() => {})
    try {
      const addresses = [...ports].map((port) => multiaddr(tcpMultiaddr(ip, port ?? 0)))
      const reached = await dialBack(
        remotePeer,
        addresses,
        AbortSignal.any([signal, AbortSignal.timeout(DIAL_TIMEOUT_MS)]),
      )
      return { status: STATUS.ok, address: reached.bytes }
    } catch {
      // How long a dial took would tell which ports are open, or filtered.
      await over
      return { status: STATUS.dialError, text: 'dial failed' }
    }
  }

  return async (stream, connection) => {
    const closed = new AbortController()
    stream.addEventListener('close', () => closed.abort(new Error('stream closed')))
    try {
      const signal = AbortSignal.any([closed.signal, AbortSignal.timeout(STREAM_TIMEOUT_MS)])
      const request = await readFrame(stream, MAX_MESSAGE_BYTES, signal)
      await writeAll(stream, encodeDialAnswer(await answer(request, connection, signal)), signal)
    } catch (error) {
      stream.abort(error instanceof Error ? error : new Error(String(error)))
    }
  }
}

/** Of an address that is an IP and a TCP port, and no more than that but for a peer id. */
function portOf(address: Uint8Array): number | undefined {
  try {
    const [host, tcp, ...rest] = multiaddr(address).getComponents()
    const isPlain = rest.every(({ name }) => name === 'p2p') && rest.length <= 1
    if ((host?.name !== 'ip4' && host?.name !== 'ip6') || tcp?.name !== 'tcp' || !isPlain) return undefined
    return Number(tcp.value) || undefined
  } catch {
    return undefined
  }
}

/** As go-multiaddr's IsPublicAddr: neither private nor reserved. */
const NOT_PUBLIC = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/3', '2001:db8::/32'],
].map(parseCidr)
const GLOBAL_UNICAST_6 = parseCidr('2000::/3')

export function isPublicIp(ip: string): boolean {
  const bytes = parseIp(ip)
  if (bytes.length === 16 && !subnetContains(GLOBAL_UNICAST_6, bytes)) return false
  return !NOT_PUBLIC.some((range) => subnetContains(range, bytes))
}
