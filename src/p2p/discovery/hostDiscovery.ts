import { publicKeyFromRaw } from '@libp2p/crypto/keys'
import { peerIdFromPublicKey } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import type { Logger } from '../../lib/logger.ts'
import type { RollupConfig } from '../../rollup/protocol/types.ts'
import { PEER_METADATA } from '../base/api.ts'
import { P2pError } from '../base/errors.ts'
import type { DiscoveryOptions, P2pOptions } from '../base/options.ts'
import { type Host, resolveAdvertisedIp } from '../host/host.ts'
import { parsePeerId, tcpMultiaddr } from '../host/multiaddrs.ts'
import { type ConnectorMetrics, createConnector } from './connector.ts'
import { createDiscovery, type DiscoveryMetrics } from './discovery.ts'
import type { NodeRecord } from './nodeRecord.ts'
import { OPSTACK_VERSION } from './opstackEntry.ts'
import type { Dialable } from './recordFilter.ts'
import { openUdpSocket } from './udpSocket.ts'

export interface HostDiscoveryModules {
  host: Host
  clock: Clock
  logger: Logger
  /** 32 bytes: the host's own key, so that peer id and node id match. */
  privateKey: Uint8Array
  config: Pick<RollupConfig, 'l1ChainId' | 'l2ChainId'>
  connected(): readonly string[]
  /** True: blocked or banned, so do not dial. */
  isRefused(peerId: string): boolean
  isProtected(peerId: string): boolean
  metrics: DiscoveryMetrics & ConnectorMetrics
}

export type HostDiscovery = ReturnType<typeof createHostDiscovery>

/** Tag of discovered peers in go-libp2p's connection manager (op-node `p2p/discovery.go`). */
const TAG_VALUE = 42
/**
 * Limit of discovered, disconnected peers in the peer store, which is read as a whole before a dial. A node that
 * answers lookups can create as many records as fit into the packets: half a million a day for each node that requests
 * them.
 */
export const MAX_FOUND_PEERS = 500

/** Stores discovered peers in the peer store, and keeps `peersLow` peers connected. */
export function createHostDiscovery(
  modules: HostDiscoveryModules,
  options: P2pOptions & { discovery: DiscoveryOptions },
) {
  const { host, clock, logger, config } = modules
  const selfId = host.peerId.toString()
  const tag = `opstack-${config.l2ChainId}-${OPSTACK_VERSION}`
  /** Oldest update first. */
  const found = new Set<string>()
  const chainIdText = Buffer.from(config.l2ChainId.toString())

  const connector = createConnector(
    {
      clock,
      logger: logger.child({ module: 'discovery' }),
      metrics: modules.metrics,
      host: {
        connectedCount: () => modules.connected().length,
        isConnected: (peerId) => modules.connected().includes(peerId),
        async candidates() {
          const peers = await host.peerStore.all()
          return peers
            .filter((peer) => peer.addresses.length > 0)
            .map((peer) => peer.id.toString())
            .filter((id) => id !== selfId && !modules.isRefused(id))
        },
        async dial(peerId, signal) {
          await host.dial(parsePeerId(peerId), { signal })
        },
      },
    },
    { goal: options.peersLow, dialTimeoutMs: options.dialTimeoutMs },
  )
  const store = async (record: NodeRecord, locations: readonly Dialable[]): Promise<void> => {
    const peerId = peerIdFromPublicKey(publicKeyFromRaw(record.publicKey))
    // Replaces the known addresses. A node could sign many records with different addresses.
    await host.peerStore.patch(peerId, {
      multiaddrs: locations.map(({ ip, tcpPort }) => multiaddr(tcpMultiaddr(ip, tcpPort))),
    })
    await host.peerStore.merge(peerId, {
      metadata: { [PEER_METADATA.enr]: Buffer.from(record.text), [PEER_METADATA.chainId]: chainIdText },
      tags: { [tag]: { value: TAG_VALUE } },
    })
    found.delete(peerId.toString())
    found.add(peerId.toString())
    connector.onCandidate(peerId.toString())
    await evictOldest()
  }
  const evictOldest = async (): Promise<void> => {
    const kept = new Set(modules.connected())
    for (const oldest of found) {
      if (found.size <= MAX_FOUND_PEERS + kept.size) return
      if (kept.has(oldest) || modules.isProtected(oldest)) continue
      found.delete(oldest)
      await host.peerStore.delete(parsePeerId(oldest))
    }
  }
  const discovery = createDiscovery(
    {
      clock,
      logger,
      privateKey: modules.privateKey,
      onPeer(record, locations) {
        store(record, locations).catch((error: unknown) =>
          logger.debug('Discovered peer not stored', { node: record.nodeId, err: describeError(error) }),
        )
      },
      isSatisfied: () => modules.connected().length >= options.peersLow,
      openSocket: (socket) => openUdpSocket({ clock }, socket),
      metrics: modules.metrics,
    },
    { ...options.discovery, chainId: config.l2ChainId, listenIp: options.listenIp },
  )
  return {
    ...discovery,
    /** Call it after the host listens. Throws UsageError when the UDP port is in use. */
    async start(): Promise<void> {
      await discovery.start({
        advertisedIp: await resolveAdvertisedIp(options),
        ...(options.advertiseTcpPort === 0
          ? listeningPorts(host)
          : { tcpPort: options.advertiseTcpPort, tcp6Port: options.advertiseTcpPort }),
      })
      connector.start()
    },
    async stop(): Promise<void> {
      connector.stop()
      await discovery.stop()
    },
    /** True: discovery found the peer recently, or the peer has been connected since. */
    hasFound: (peerId: string): boolean => found.has(peerId),
    /** `enr:…` of each node in the routing table. */
    table: (): string[] => discovery.table().map((record) => record.text),
    tableSize: (): number => discovery.table().length,
  }
}

function listeningPorts(host: Host): { tcpPort: number; tcp6Port: number } {
  const { addresses } = host.services
  const [port4, port6] = [addresses.listeningPort('ip4'), addresses.listeningPort('ip6')]
  const [tcpPort, tcp6Port] = [port4 ?? port6, port6 ?? port4]
  if (tcpPort === undefined || tcp6Port === undefined) {
    throw new P2pError('not-running', 'cannot build the discovery record: the host listens on no TCP port')
  }
  return { tcpPort, tcp6Port }
}
