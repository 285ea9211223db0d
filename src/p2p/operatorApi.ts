import type { Peer, PeerId } from '@libp2p/interface'
import type { Clock } from '../lib/clock.ts'
import { normalizeCidr, normalizeIp } from '../lib/ipNet.ts'
import type { Logger } from '../lib/logger.ts'
import type { P2pApi, PeerDump, PeerRecord, PeerScores } from './api.ts'
import { P2pError } from './errors.ts'
import type { GossipRouter } from './gossip/router.ts'
import type { AccessListStore } from './host/accessListStore.ts'
import type { Connections } from './host/connections.ts'
import { classifyDialFailure } from './host/dialFailure.ts'
import type { GaterMetrics } from './host/gater.ts'
import type { Host } from './host/host.ts'
import { identified } from './host/identified.ts'
import type { LatencyTracker } from './host/latency.ts'
import { ipOf, parsePeerAddress, parsePeerId, withPeerId } from './host/multiaddrs.ts'
import { CLOSED_EARLY, closedEarlyText, type StaticPeers } from './host/staticPeers.ts'
import { createStoredPeers } from './host/storedPeers.ts'
import { peerRecord, UNKNOWN_PEER_FACTS } from './peerRecords.ts'
import type { PeerReasons } from './score/peerReasons.ts'

export interface OperatorApiModules {
  host: Host
  router: GossipRouter
  access: AccessListStore
  connections: Connections
  statics: StaticPeers
  latency: LatencyTracker
  scores: { of(peerId: string): PeerScores; forgive(peerId: string): void }
  clock: Clock
  isProtected(peerId: string): boolean
  /** Undefined when discovery is off. */
  discovery: { localEnr(): string; table(): string[] } | undefined
  /** The operator put a peer on the block list, or took it off. */
  onBlock(change: 'block' | 'unblock', peerId: string): void
  metrics: Pick<GaterMetrics, 'onPeerUnban' | 'onIpUnban'>
  logger: Logger
}

/** What is told of scores and their reasons is another part's business. */
export type OperatorApi = Omit<P2pApi, keyof PeerReasons | 'health'>

/** How long `connectPeer` waits for identify after the connection stands. */
const IDENTIFY_TIMEOUT_MS = 5_000

export function createOperatorApi(modules: OperatorApiModules, options: { dialTimeoutMs: number }): OperatorApi {
  const { host, router, access, connections, statics, latency, scores, logger } = modules
  const { lists } = access
  const selfId = host.peerId.toString()
  const storedPeers = createStoredPeers({ clock: modules.clock, peerStore: host.peerStore })

  const stored = async (id: PeerId): Promise<Peer | undefined> => {
    try {
      return await host.peerStore.get(id)
    } catch {
      return undefined
    }
  }
  const selfRecord = async (): Promise<PeerRecord> => {
    const record = peerRecord(host.peerId, await stored(host.peerId), { ...UNKNOWN_PEER_FACTS, gossipBlocks: true })
    return {
      ...record,
      ENR: modules.discovery?.localEnr() ?? '',
      addresses: host.getMultiaddrs().map((address) => withPeerId(address, host.peerId)),
    }
  }
  const recordOf = (id: PeerId, peer: Peer | undefined): PeerRecord => {
    const text = id.toString()
    return peerRecord(id, peer, {
      connected: connections.isConnected(text),
      direction: connections.direction(text),
      protected: modules.isProtected(text),
      latencyMs: latency.latencyMs(text),
      gossipBlocks: router.isSubscribed(text),
      scores: scores.of(text),
    })
  }
  /** Closes what the lists now refuse. */
  const enforceAddrs = (): void => {
    for (const connection of connections.open()) {
      const ip = ipOf(connection.remoteAddr)
      if (ip !== undefined && lists.isAddrBlocked(ip)) connection.abort(new Error('address is blocked'))
    }
  }
  const retryStatics = (): void => {
    for (const id of statics.ids()) if (!connections.isConnected(id)) statics.retryNow(id)
  }
  const unblock = async (peerId: string): Promise<void> => {
    if (lists.blockedPeers.delete(peerId)) modules.onBlock('unblock', peerId)
    if (lists.unbanPeer(peerId)) {
      scores.forgive(peerId)
      modules.metrics.onPeerUnban(peerId, 'lifted')
    }
    await access.save()
    statics.retryNow(peerId)
  }

  return {
    self: selfRecord,
    async peers(connectedOnly) {
      const peers: PeerDump['peers'] = {}
      let totalConnected = 0
      const add = (record: PeerRecord): void => {
        peers[record.peerID] = record
        if (record.connectedness === 1) totalConnected += 1
      }
      if (connectedOnly) {
        for (const text of connections.peers()) {
          const id = parsePeerId(text)
          if (isSecp256k1(id)) add(recordOf(id, await stored(id)))
        }
      } else {
        add(await selfRecord())
        for (const peer of await host.peerStore.all()) {
          if (!isSecp256k1(peer.id) || peer.id.equals(host.peerId)) continue
          add(recordOf(peer.id, peer))
        }
      }
      return {
        totalConnected,
        peers,
        bannedPeers: [...lists.blockedPeers],
        bannedIPS: lists.listAddrs(),
        bannedSubnets: lists.listSubnets(),
        timeBans: lists.standingBans(modules.clock.now()),
      }
    },
    async peerStats() {
      const known = new Set([...(await storedPeers.ids()), ...connections.peers(), selfId])
      return {
        connected: connections.peers().length,
        table: modules.discovery?.table().length ?? 0,
        blocksTopic: router.subscribers(1).length,
        blocksTopicV2: router.subscribers(2).length,
        blocksTopicV3: router.subscribers(3).length,
        blocksTopicV4: router.subscribers(4).length,
        banned: lists.blockedPeers.size,
        timeBanned: lists.standingBans(modules.clock.now()).peers.filter((peer) => !lists.blockedPeers.has(peer))
          .length,
        known: known.size,
      }
    },
    async discoveryTable() {
      if (modules.discovery === undefined) throw new P2pError('discovery-disabled', 'discovery disabled')
      return modules.discovery.table()
    },

    async blockPeer(peerId) {
      const id = parsePeerId(peerId).toString()
      lists.blockedPeers.add(id)
      modules.onBlock('block', id)
      connections.abort(id, 'peer is blocked')
      await access.save()
      logger.info('Blocked peer', { peer: id })
    },
    async unblockPeer(peerId) {
      await unblock(parsePeerId(peerId).toString())
    },
    listBlockedPeers: async () => [...lists.blockedPeers],
    async blockAddr(ip) {
      lists.blockAddr(ip)
      enforceAddrs()
      await access.save()
      logger.info('Blocked address', { ip: normalizeIp(ip) })
    },
    async unblockAddr(ip) {
      lists.unblockAddr(ip)
      if (lists.unbanIp(normalizeIp(ip))) modules.metrics.onIpUnban()
      await access.save()
      retryStatics()
    },
    listBlockedAddrs: async () => lists.listAddrs(),
    async blockSubnet(cidr) {
      lists.blockSubnet(cidr)
      enforceAddrs()
      await access.save()
      logger.info('Blocked subnet', { subnet: normalizeCidr(cidr) })
    },
    async unblockSubnet(cidr) {
      lists.unblockSubnet(cidr)
      await access.save()
      retryStatics()
    },
    listBlockedSubnets: async () => lists.listSubnets(),

    async protectPeer(peerId) {
      lists.protectedPeers.add(parsePeerId(peerId).toString())
      await access.save()
    },
    async unprotectPeer(peerId) {
      lists.protectedPeers.delete(parsePeerId(peerId).toString())
      await access.save()
    },

    async connectPeer(text) {
      const { peerId, address } = parsePeerAddress(text)
      const id = peerId.toString()
      if (id === selfId) throw new P2pError('dial-failed', 'failed to dial: dial to self attempted')
      const ip = ipOf(address)
      if (lists.blockedPeers.has(id) || (ip !== undefined && lists.isAddrBlocked(ip))) {
        throw new P2pError('dial-failed', `failed to dial: failed to dial ${id}: gater disallows connection to peer`)
      }
      const wasConnected = connections.isConnected(id)
      const ended = new AbortController()
      // Before the dial: it may be told as soon as the connection stands.
      const told = identified(host, peerId, ended.signal)
      try {
        const connection = await host.dial(address, { signal: AbortSignal.timeout(options.dialTimeoutMs) })
        if (wasConnected) return
        connection.addEventListener('close', () => ended.abort())
        AbortSignal.timeout(IDENTIFY_TIMEOUT_MS).addEventListener('abort', () => ended.abort())
        if (connection.status === 'open') await told
        if (connections.isConnected(id)) return
        const { open, close = open } = connection.timeline
        throw dialFailure(id, { reason: CLOSED_EARLY, text: closedEarlyText(close - open) })
      } catch (cause) {
        if (cause instanceof P2pError) throw cause
        throw dialFailure(id, classifyDialFailure(cause), cause)
      } finally {
        ended.abort()
      }
    },
    async disconnectPeer(peerId) {
      const id = parsePeerId(peerId)
      await connections.close(id.toString(), 'disconnected by the operator')
      await host.peerStore.delete(id)
      storedPeers.changed()
      await unblock(id.toString())
    },
  }
}

function dialFailure(id: string, { reason, text }: { reason: string; text: string }, cause?: unknown): P2pError {
  return new P2pError('dial-failed', `failed to dial: failed to dial ${id}: ${text}`, { cause, details: { reason } })
}

function isSecp256k1(id: PeerId): boolean {
  return id.type === 'secp256k1'
}
