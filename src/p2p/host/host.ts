import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { GossipSub, GossipSubComponents } from '@chainsafe/libp2p-gossipsub'
import { noise } from '@chainsafe/libp2p-noise'
import { type Identify, type IdentifyPush, identify, identifyPush } from '@libp2p/identify'
import type { ConnectionGater, Libp2p } from '@libp2p/interface'
import { type Ping, ping } from '@libp2p/ping'
import { tcp } from '@libp2p/tcp'
import { yamux } from '@libp2p/yamux'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import type { Datastore } from 'interface-datastore'
import { createLibp2p, type Libp2pOptions } from 'libp2p'
import type { Clock } from '../../lib/clock.ts'
import { UsageError } from '../../lib/errors.ts'
import { listenProblem } from '../../lib/listenProblem.ts'
import type { P2pOptions } from '../base/options.ts'
import { type AddressComponents, type AnnouncedAddresses, announcedAddresses } from './announcedAddresses.ts'
import {
  guardMplex,
  guardYamux,
  MAX_INBOUND_STREAMS,
  MPLEX_GONE_PER_SECOND,
  type MuxerGuardModules,
} from './guardedMuxers.ts'
import { limitPushes } from './identifyPushes.ts'
import type { Identity } from './identity.ts'
import { silentComponentLogger } from './libp2pLogger.ts'
import { tcpMultiaddr } from './multiaddrs.ts'
import { signNatively } from './nativeSignatures.ts'
import { noiseCrypto } from './noiseCrypto.ts'
import { createPingServer, MAX_PING_STREAMS, PING_PROTOCOL } from './pingServer.ts'

export type HostServices = {
  identify: Identify
  identifyPush: IdentifyPush
  ping: Ping
  pubsub: GossipSub
  addresses: AnnouncedAddresses
}
export type Host = Libp2p<HostServices>

export interface HostModules {
  identity: Identity
  gater: ConnectionGater
  datastore: Datastore | undefined
  pubsub: (components: GossipSubComponents) => GossipSub
  muxerGuard: MuxerGuardModules
}

/** op-node's value: idle TCP connections are closed after an hour. */
const CONNECTION_IDLE_MS = 60 * 60_000
/**
 * go-libp2p's value; libp2p's is 5 s. identify runs once per connection, and gossip ignores a peer without it. If the
 * machine was suspended for longer, the connection was useless until it closed.
 */
const IDENTIFY_TIMEOUT_MS = 30_000
/** Expiry time of addresses and peers: op-node's time for discovered addresses. */
const PEER_AGE_MS = 24 * 60 * 60_000
/** Inbound connections a second from one IP. libp2p's 5 are too few for peers that share an address. */
const INBOUND_PER_SECOND_PER_IP = 100
/**
 * Limit of handshakes, above the limit of `inboundLimits.ts`. That one closes the oldest handshake, libp2p refuses the
 * newest.
 */
const INBOUND_PENDING = 512
/**
 * Connections above `maxPeers`, which our gater enforces. libp2p refuses before it knows the peer, be it static or
 * unauthenticated.
 */
const SPARE_CONNECTIONS = 64

type Factories = Libp2pOptions<HostServices>

/** Creates the libp2p host. It is not started, so nothing listens yet. Throws UsageError on contradictory options. */
export async function createHost(modules: HostModules, options: P2pOptions): Promise<Host> {
  signNatively(modules.identity.privateKey)
  const advertisedIp = await resolveAdvertisedIp(options)
  let addresses: AnnouncedAddresses | undefined
  const announced = (known: Multiaddr[]): Multiaddr[] => {
    if (addresses === undefined) return known
    if (advertisedIp === undefined) return addresses.withListening(known)
    const port = options.advertiseTcpPort || listeningPort(addresses, advertisedIp)
    return port === undefined ? [] : [multiaddr(`${tcpMultiaddr(advertisedIp, port)}/p2p/${modules.identity.peerId}`)]
  }
  return createLibp2p<HostServices>({
    start: false,
    privateKey: modules.identity.privateKey,
    logger: silentComponentLogger,
    nodeInfo: { userAgent: options.userAgent },
    addresses: {
      // op-node listens on both families for `::`. For libp2p `::` is IPv6 only.
      listen: (options.listenIp === '::' ? ['::', '0.0.0.0'] : [options.listenIp]).map((ip) =>
        tcpMultiaddr(ip, options.listenTcpPort),
      ),
      // Called each time, because the system may choose the port.
      announceFilter: announced,
    },
    transports: [
      tcp({
        inboundSocketInactivityTimeout: CONNECTION_IDLE_MS,
        outboundSocketInactivityTimeout: CONNECTION_IDLE_MS,
        dialOpts: { noDelay: true },
        listenOpts: { noDelay: true },
      }),
    ],
    connectionEncrypters: await encrypters(options),
    streamMuxers: await muxers(options, modules.muxerGuard),
    connectionGater: modules.gater,
    connectionManager: {
      maxConnections: maxPeers(options.peersHigh) + SPARE_CONNECTIONS,
      inboundConnectionThreshold: INBOUND_PER_SECOND_PER_IP,
      maxIncomingPendingConnections: INBOUND_PENDING,
      dialTimeout: options.dialTimeoutMs,
      addressDialTimeout: options.dialTimeoutMs,
      // The static peers module reconnects.
      reconnectRetries: 0,
    },
    // libp2p's monitor pings every peer and costs 5 times the CPU of an idle host. Our own pings are minutes apart.
    connectionMonitor: { enabled: false },
    peerStore: { maxAddressAge: PEER_AGE_MS, maxPeerAge: PEER_AGE_MS },
    ...(modules.datastore === undefined ? {} : { datastore: modules.datastore }),
    services: {
      identify: identify({ timeout: IDENTIFY_TIMEOUT_MS }),
      identifyPush: identifyPush(),
      ping: ping(),
      pubsub: modules.pubsub,
      addresses(components: AddressComponents) {
        addresses = announcedAddresses(components)
        return addresses
      },
    },
  })
}

/** Budgets and penalties of the host's own protocols. */
export interface HostQuotas {
  spend(peerId: string, quota: 'pings' | 'pushes'): boolean
  report(peerId: string, offence: 'ping-flood'): void
}

/** Connection limit. Between the high mark and this limit, the trimmer decides which peers to keep. */
export function maxPeers(high: number): number {
  return Math.max(high * 2, high + 16)
}

/**
 * Listens, and replaces libp2p's unlimited handlers. If it cannot listen, throws UsageError in one line that names the
 * flag.
 */
export async function startHost(
  host: Host,
  { clock, quotas }: { clock: Clock; quotas: HostQuotas },
  options: P2pOptions,
): Promise<void> {
  try {
    await host.start()
  } catch (cause) {
    const text = String(cause instanceof Error ? cause.message : cause)
    const place = `${options.listenIp}:${options.listenTcpPort} (--p2p.listen.ip, --p2p.listen.tcp)`
    const problem = listenProblem(text)
    if (problem !== undefined) throw new UsageError(`cannot listen for peers on ${place}: ${problem}`)
    if (/listen|address/i.test(text)) throw new UsageError(`cannot listen for peers on ${place}`, { cause })
    throw cause
  }
  const pings = createPingServer({
    setTimeout: clock.setTimeout.bind(clock),
    spend: (peer) => quotas.spend(peer, 'pings'),
    onFlood: (peer) => quotas.report(peer, 'ping-flood'),
  })
  await host.handle(PING_PROTOCOL, pings, { maxInboundStreams: MAX_PING_STREAMS, force: true })
  await limitPushes(host, (peer) => quotas.spend(peer, 'pushes'))
}

/** Prefers the port of the advertised address's family. */
function listeningPort(addresses: AnnouncedAddresses, advertisedIp: string): number | undefined {
  const [port4, port6] = [addresses.listeningPort('ip4'), addresses.listeningPort('ip6')]
  return isIP(advertisedIp) === 6 ? (port6 ?? port4) : (port4 ?? port6)
}

/** `advertiseIp`; of a host name the first IPv4 address. Throws UsageError. */
export async function resolveAdvertisedIp({
  advertiseIp,
}: Pick<P2pOptions, 'advertiseIp'>): Promise<string | undefined> {
  if (advertiseIp === undefined || advertiseIp === '') return undefined
  if (isIP(advertiseIp) !== 0) return advertiseIp
  try {
    return (await lookup(advertiseIp, { family: 4 })).address
  } catch (cause) {
    throw new UsageError(`cannot resolve --p2p.advertise.ip ${advertiseIp}`, { cause })
  }
}

async function encrypters(
  options: Pick<P2pOptions, 'security'>,
): Promise<NonNullable<Factories['connectionEncrypters']>> {
  if (options.security.includes('none')) {
    const { plaintext } = await import('@libp2p/plaintext')
    return [plaintext()]
  }
  const list: NonNullable<Factories['connectionEncrypters']> = []
  for (const name of options.security) {
    if (name === 'noise') list.push(noise({ crypto: noiseCrypto }))
    else list.push((await import('@libp2p/tls')).tls())
  }
  return list
}

async function muxers(options: P2pOptions, guard: MuxerGuardModules): Promise<NonNullable<Factories['streamMuxers']>> {
  const list: NonNullable<Factories['streamMuxers']> = []
  for (const name of options.muxers) {
    if (name === 'yamux') list.push(guardYamux(yamux({ maxInboundStreams: MAX_INBOUND_STREAMS }), guard))
    else {
      const { mplex } = await import('@libp2p/mplex')
      list.push(guardMplex(mplex({ disconnectThreshold: MPLEX_GONE_PER_SECOND }), guard))
    }
  }
  return list
}
