import type { IdentifyResult } from '@libp2p/interface'
import type { Clock } from '../lib/clock.ts'
import type { Logger } from '../lib/logger.ts'
import { blockedKind, type P2pApi, type PeerDump, type PeerScores } from './base/api.ts'
import { P2pError } from './base/errors.ts'
import type { P2pEvents } from './base/events.ts'
import type { BlockedSubject } from './base/records.ts'
import type { BlockRecord, PeerRecord } from './base/schemas.ts'
import { createTimedCache } from './base/timedCache.ts'
import type { GossipRouter } from './gossip/router.ts'
import { classifyDialFailure } from './host/dialFailure.ts'
import type { Host } from './host/host.ts'
import { ipOf, parsePeerAddress, parsePeerId, withPeerId } from './host/multiaddrs.ts'
import { peerRecord, type StoredRecord, storedRecord, UNKNOWN_PEER_FACTS } from './peerRecords.ts'
import type { AccessListStore } from './peers/accessListStore.ts'
import type { Connections } from './peers/connections.ts'
import type { LatencyTracker } from './peers/latency.ts'
import type { PeerRegistry } from './peers/registry.ts'
import { CLOSED_EARLY, closedEarlyText, type StaticPeers } from './peers/staticPeers.ts'
import type { PeerReasons } from './reputation/peerReasons.ts'
import { createStoredRecords, isSecp256k1 } from './storedRecords.ts'

export interface OperatorApiModules {
  host: Host
  router: GossipRouter
  access: AccessListStore
  connections: Connections
  staticPeers: StaticPeers
  latency: LatencyTracker
  keeping: { of(peerId: string): PeerScores; forgive(peerId: string): void }
  clock: Clock
  peers: Pick<PeerRegistry, 'isProtected' | 'staticIds'>
  /** Undefined when discovery is off. */
  discovery: { localEnr(): string; table(): string[] } | undefined
  events: Pick<P2pEvents, 'emit'>
  logger: Logger
}

/** Scores and their reasons are provided by `reputation.ts`. */
export type OperatorApi = Omit<P2pApi, keyof PeerReasons | 'health' | 'names' | 'onNotification'>

/** Time limit of `connectPeer` for identify, counted from the open connection. */
const IDENTIFY_TIMEOUT_MS = 5_000
/** A listing takes 0.1 ms per peer, and monitoring tools request it every second. */
const STORED_IDS_KEPT_MS = 60_000

export function createOperatorApi(
  modules: OperatorApiModules,
  { dialTimeoutMs, allow }: { dialTimeoutMs: number; allow: readonly string[] },
): OperatorApi {
  const { host, router, access, connections, staticPeers, latency, keeping, logger, events, peers } = modules
  const { lists } = access
  const selfId = host.peerId.toString()
  const storedRecords = createStoredRecords(host, modules)
  /** The ids of all peers in the peer store. */
  const storedIds = createTimedCache(
    {
      clock: modules.clock,
      read: async (_: 'all') => new Set((await host.peerStore.all()).map((peer) => peer.id.toString())),
    },
    { keptMs: STORED_IDS_KEPT_MS },
  )

  const selfRecord = async (): Promise<PeerRecord> => {
    const stored = storedRecord(host.peerId, await host.peerStore.get(host.peerId).catch(() => undefined))
    const record = peerRecord(stored, { ...UNKNOWN_PEER_FACTS, gossipBlocks: true })
    return {
      ...record,
      ENR: modules.discovery?.localEnr() ?? '',
      addresses: host.getMultiaddrs().map((address) => withPeerId(address, host.peerId)),
    }
  }
  const recordOf = (stored: StoredRecord): PeerRecord => {
    const text = stored.peerID
    return peerRecord(stored, {
      connected: connections.isConnected(text),
      direction: connections.direction(text),
      protected: peers.isProtected(text),
      latencyMs: latency.latencyMs(text),
      gossipBlocks: router.isSubscribed(text),
      scores: keeping.of(text),
    })
  }
  const banned = (): string[] => lists.activeBans(modules.clock.now()).map(([peer]) => peer)
  const enforceAddrs = (): void => {
    for (const connection of connections.open()) {
      const ip = ipOf(connection.remoteAddr)
      if (ip !== undefined && lists.isAddrBlocked(ip)) connection.abort(new Error('address is blocked'))
    }
  }
  /** Announces an entry of a block list, closes the connections that it refuses, and records its reason and time. */
  const onBlocked = async (kind: BlockRecord['kind'], entry: string, reason: string): Promise<void> => {
    events.emit('blockListChanged', 'block', blockedSubject(kind, entry))
    if (kind === 'peer') connections.abort(entry, 'peer is blocked')
    else enforceAddrs()
    lists.noteBlock(entry, { sinceMs: modules.clock.now(), reason })
    await access.save()
    logger.info(`Blocked ${kind}`, { [kind]: entry, ...(reason === '' ? {} : { reason }) })
  }
  const onUnblocked = async (kind: BlockRecord['kind'], entry: string): Promise<void> => {
    events.emit('blockListChanged', 'unblock', blockedSubject(kind, entry))
    await access.save()
    for (const id of peers.staticIds()) if (!connections.isConnected(id)) staticPeers.retryNow(id)
  }
  const unblock = async (peerId: string): Promise<void> => {
    if (lists.blockedPeers.delete(peerId)) events.emit('blockListChanged', 'unblock', { peerID: peerId })
    if (lists.unbanPeer(peerId)) {
      keeping.forgive(peerId)
      events.emit('unbanned', peerId, 'lifted')
    }
    await access.save()
    staticPeers.retryNow(peerId)
  }

  const blockPeer = async (peerId: string, reason = ''): Promise<void> => {
    const id = parsePeerId(peerId).toString()
    if (id === selfId) throw new P2pError('own-peer-id', 'failed to block: this is the peer id of the node itself')
    lists.blockedPeers.add(id)
    await onBlocked('peer', id, reason)
  }
  const blockAddr = async (ip: string, reason = ''): Promise<void> => {
    await onBlocked('address', lists.blockAddr(ip), reason)
  }
  const blockSubnet = async (cidr: string, reason = ''): Promise<void> => {
    await onBlocked('subnet', lists.blockSubnet(cidr), reason)
  }

  return {
    self: selfRecord,
    async peers(connectedOnly) {
      const found: PeerDump['peers'] = {}
      let totalConnected = 0
      const add = (record: PeerRecord): void => {
        found[record.peerID] = record
        if (record.connectedness === 1) totalConnected += 1
      }
      if (connectedOnly) {
        for (const text of connections.peers()) {
          const stored = await storedRecords.of(text)
          if (stored !== undefined) add(recordOf(stored))
        }
      } else {
        add(await selfRecord())
        for (const peer of await host.peerStore.all()) {
          if (!isSecp256k1(peer.id) || peer.id.equals(host.peerId)) continue
          add(recordOf(storedRecord(peer.id, peer)))
        }
      }
      return {
        totalConnected,
        peers: found,
        bannedPeers: [...lists.blockedPeers],
        bannedIPS: lists.listAddrs(),
        bannedSubnets: lists.listSubnets(),
        timeBans: banned(),
      }
    },
    async peerStats() {
      const known = new Set([...(await storedIds.get('all')), ...connections.peers(), selfId])
      return {
        connected: connections.peers().length,
        table: modules.discovery?.table().length ?? 0,
        blocksTopic: router.subscribers(1).length,
        blocksTopicV2: router.subscribers(2).length,
        blocksTopicV3: router.subscribers(3).length,
        blocksTopicV4: router.subscribers(4).length,
        banned: lists.blockedPeers.size,
        timeBanned: banned().filter((peer) => !lists.blockedPeers.has(peer)).length,
        known: known.size,
      }
    },
    async discoveryTable() {
      if (modules.discovery === undefined) throw new P2pError('discovery-disabled', 'discovery disabled')
      return modules.discovery.table()
    },

    blockPeer,
    async unblockPeer(peerId) {
      await unblock(parsePeerId(peerId).toString())
    },
    listBlockedPeers: async () => [...lists.blockedPeers],
    blockAddr,
    unblockAddr: async (ip) => onUnblocked('address', lists.unblockAddr(ip)),
    listBlockedAddrs: async () => lists.listAddrs(),
    blockSubnet,
    unblockSubnet: async (cidr) => onUnblocked('subnet', lists.unblockSubnet(cidr)),
    listBlockedSubnets: async () => lists.listSubnets(),
    block(subject, reason) {
      const block = { peer: blockPeer, address: blockAddr, subnet: blockSubnet }[blockedKind(subject)]
      return block(subject, reason)
    },
    accessRules: () => ({ blocks: lists.blocks(), allow: allow.length === 0 ? null : [...allow] }),

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
      const identified = Promise.withResolvers<void>()
      // Subscribe before the dial: identify may finish as soon as the connection is open.
      const onIdentify = ({ detail }: CustomEvent<IdentifyResult>): void => {
        if (detail.peerId.equals(peerId)) identified.resolve()
      }
      host.addEventListener('peer:identify', onIdentify, { signal: ended.signal })
      ended.signal.addEventListener('abort', () => identified.resolve())
      try {
        const connection = await host.dial(address, { signal: AbortSignal.timeout(dialTimeoutMs) })
        if (wasConnected) return
        connection.addEventListener('close', () => ended.abort())
        AbortSignal.timeout(IDENTIFY_TIMEOUT_MS).addEventListener('abort', () => ended.abort())
        if (connection.status === 'open') await identified.promise
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
      storedIds.drop('all')
      await unblock(id.toString())
    },
  }
}

function blockedSubject(kind: BlockRecord['kind'], entry: string): BlockedSubject {
  if (kind === 'peer') return { peerID: entry }
  return kind === 'address' ? { ip: entry } : { subnet: entry }
}

function dialFailure(id: string, { reason, text }: { reason: string; text: string }, cause?: unknown): P2pError {
  return new P2pError('dial-failed', `failed to dial: failed to dial ${id}: ${text}`, { cause, details: { reason } })
}
