import { equalBytes } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { formatCidr, parseCidr, parseIp } from '../../lib/ipNet.ts'
import type { Logger } from '../../lib/logger.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { publicKeyOf } from '../../lib/secp256k1.ts'
import { createSemaphore } from '../../lib/semaphore.ts'
import type { DiscoveryOptions } from '../base/options.ts'
import { type Bootnode, parseBootnodes, resolveEnode } from './bootnodes.ts'
import { FAST_INTERVAL_MS, SLOW_INTERVAL_MS } from './connector.ts'
import { parseRecord } from './discv5.ts'
import { createEnodeBootnodes } from './enodeBootnodes.ts'
import type { NodeRecord } from './nodeRecord.ts'
import { MAX_STORED_RECORDS, openNodeStore } from './nodeStore.ts'
import { encodeOpstackEntry, OPSTACK_VERSION } from './opstackEntry.ts'
import { createOwnNode, type Reach } from './ownNode.ts'
import { type Dialable, dialable, isAllowed, isLocalIp, type RecordRefusal, refusalOf } from './recordFilter.ts'
import type { UdpSocket, UdpSocketOptions } from './udpSocket.ts'

export interface DiscoveryModules {
  clock: Clock
  logger: Logger
  /** 32 bytes: the private key of the peer id. */
  privateKey: Uint8Array
  /** A node of our chain with an address was found, or its record changed. Known nodes are reported again every 6 h. */
  onPeer(record: NodeRecord, locations: readonly Dialable[]): void
  /** True: enough peers are connected, so lookups can be rare. */
  isSatisfied(): boolean
  openSocket(options: UdpSocketOptions): Promise<UdpSocket>
  metrics: DiscoveryMetrics
}

export interface DiscoveryMetrics {
  onLookup(): void
  /** Outcome for a record that is new, changed, or was evicted before: `found`, or the reason to ignore it. */
  onRecord(outcome: 'found' | RecordRefusal): void
}

export interface DiscoverySetup extends DiscoveryOptions {
  chainId: bigint
  listenIp: string
  /** Default: discv5's one second. */
  requestTimeoutMs?: number | undefined
}

/**
 * First interval between lookups, which then doubles. The nodes of a testnet start together and must find each other
 * soon.
 */
export const FIRST_ROUND_MS = 250
/** As many records as one answer of a bootnode holds. */
const FEW_RECORDS = 16
const PINGS_FOR_ADDRESS = 8
const FIRST_RENEW_MS = 30_000
const SECOND_RENEW_MS = 5 * 60_000
const MAX_RENEW_MS = 6 * 60 * 60_000
/** Well before the peer store expires an address. */
const REPORT_AGAIN_MS = 6 * 60 * 60_000
const SAVE_INTERVAL_MS = 60_000
const SILENT_BOOTNODES_MS = 60_000
const KNOWN_RECORDS = 4096

export type Discovery = ReturnType<typeof createDiscovery>

/**
 * Finds nodes of the chain by discv5. Starts with the bootnodes and the nodes of the last run. Looks up random ids
 * every 5 s while peers are wanted, every 20 s otherwise. Reports each record that passes the filter. Throws UsageError
 * when a bootnode's record is invalid.
 */
export function createDiscovery(modules: DiscoveryModules, setup: DiscoverySetup) {
  const { clock } = modules
  const logger = modules.logger.child({ module: 'discovery' })
  const netrestrict = setup.netrestrict.map(parseCidr)
  const filter = { chainId: setup.chainId, netrestrict }
  const ownKey = publicKeyOf(modules.privateKey)
  const bootnodes = parseBootnodes(setup.bootnodes ?? [], parseRecord).filter((bootnode) => {
    const key = bootnode.kind === 'enode' ? bootnode.publicKey : parseRecord(bootnode.text).publicKey
    if (!equalBytes(key, ownKey)) return true
    logger.info('Bootnode list contains this node itself, ignoring it')
    return false
  })
  const enrBootnodes = enrsOf(bootnodes)
  const store = openNodeStore(setup.path, { logger, clock })
  /** The latest sequence number of each record, by node id. */
  const known = new LruMap<string, bigint>(KNOWN_RECORDS)
  /** The latest record of each node of our chain; oldest update first. */
  const ours = new Map<string, NodeRecord>()
  const timers = new Map<string, () => void>()
  let socket: UdpSocket | undefined
  let isRunning = false
  let isDirty = false
  /** Sequence number of our own record that was saved last. */
  let savedSequence: bigint | undefined
  let isLookupRunning = false
  let hasHeard = false
  /** True: a node completed a handshake with us, so packets reach us. */
  let hasAnswer = false
  let rounds = 0

  const after = (name: string, delayMs: number, run: () => void | Promise<void>): void => {
    timers.get(name)?.()
    const cancel = clock.setTimeout(() => {
      if (!isRunning) return
      Promise.resolve(run()).catch((error: unknown) =>
        logger.warn('A discovery task failed', { part: name, err: describeError(error) }),
      )
    }, delayMs)
    timers.set(name, cancel)
  }
  const onRecord = (record: NodeRecord): void => {
    if (!isRunning || (known.get(record.nodeId) ?? -1n) >= record.sequence) return
    known.set(record.nodeId, record.sequence)
    isDirty = true
    if (!hasHeard) {
      hasHeard = true
      after('lookup', 0, runLookup)
    }
    const refusal = refusalOf(record, filter, ownIp())
    modules.metrics.onRecord(refusal ?? 'found')
    if (refusal !== undefined) {
      logger.trace('Ignored a discovered node', { node: record.nodeId, reason: refusal })
      return
    }
    ours.delete(record.nodeId)
    ours.set(record.nodeId, record)
    if (ours.size > MAX_STORED_RECORDS) evictOldest()
    logger.debug('Discovered a peer', { node: record.nodeId, ip: record.ip, port: record.tcpPort })
    report(record)
  }
  const evictOldest = (): void => {
    const [oldest] = ours.keys()
    if (oldest === undefined) return
    ours.delete(oldest)
    // The evicted node is reported again when it is seen again. Otherwise a node that creates endless records would
    // displace all others for good.
    known.set(oldest, -1n)
  }
  const ownIp = (): string | undefined => own.service()?.local().ip
  const report = (record: NodeRecord): void => modules.onPeer(record, dialable(record, filter, ownIp()))
  /**
   * A lookup finds the neighbours of one id. In a small network it often finds none, so request all nodes that this
   * node lists.
   */
  const requestNodesWhileFew = (record: NodeRecord): void => {
    if (ours.size < FEW_RECORDS && !modules.isSatisfied()) own.service()?.requestNodes(record)
  }
  const runLookup = async (): Promise<void> => {
    const service = own.service()
    if (isLookupRunning || service === undefined) return
    isLookupRunning = true
    try {
      enodes.contactMissing(service.table())
      if (service.local().ip === undefined) service.table().slice(0, PINGS_FOR_ADDRESS).forEach(service.ping)
      modules.metrics.onLookup()
      service.table().slice(0, FEW_RECORDS).forEach(requestNodesWhileFew)
      await service.lookup()
    } finally {
      isLookupRunning = false
      const intervalMs = modules.isSatisfied() ? SLOW_INTERVAL_MS : FAST_INTERVAL_MS
      if (isRunning) after('lookup', Math.min(intervalMs, FIRST_ROUND_MS * 2 ** Math.min(rounds, 10)), runLookup)
      rounds += 1
    }
  }
  const lock = createSemaphore(1)
  const save = (): Promise<void> => lock.run(saveNow)
  const saveNow = async (): Promise<void> => {
    const ownRecord = own.service()?.local()
    if (ownRecord === undefined || (!isDirty && ownRecord.sequence === savedSequence)) return
    isDirty = false
    const records = [ownRecord, ...ours.values(), ...(own.service()?.table() ?? [])].map((record) => record.text)
    try {
      await store.save([...new Set(records)].slice(0, MAX_STORED_RECORDS))
      savedSequence = ownRecord.sequence
    } catch (error) {
      isDirty = true
      throw error
    }
  }
  const saveRegularly = async (): Promise<void> => {
    after('save', SAVE_INTERVAL_MS, saveRegularly)
    await save()
  }
  const reportAgain = (): void => {
    after('report again', REPORT_AGAIN_MS, reportAgain)
    for (const record of ours.values()) report(record)
  }
  const reportSilence = (): void => {
    if (bootnodes.length === 0 || hasAnswer) return
    logger.warn('No bootnode answers: check that UDP is open', { bootnodes: bootnodes.length, listening: socket?.port })
  }
  /**
   * A node learns about us in a handshake. A node that was not ready for it (go-ethereum in its first seconds) would
   * not list us during that session. Then other nodes would never find us.
   */
  const renewSessions = (nextMs: number): void => {
    after('renew', nextMs, () => renewSessions(Math.min(MAX_RENEW_MS, nextMs * 2)))
    if (!modules.isSatisfied()) own.renew()
  }
  const own = createOwnNode(
    {
      clock,
      logger,
      privateKey: modules.privateKey,
      onRecord,
      onSession(record) {
        hasAnswer = true
        requestNodesWhileFew(record)
      },
      onRenewed: () => after('lookup', 0, runLookup),
      isTrusted: (ip) => isBootnode(ip) || isLocalIp(ip),
    },
    {
      listenIp: setup.listenIp,
      advertiseUdpPort: setup.advertiseUdpPort,
      requestTimeoutMs: setup.requestTimeoutMs,
      opstack: encodeOpstackEntry({ chainId: setup.chainId, version: OPSTACK_VERSION }),
    },
  )
  const isBootnode = (ip: string): boolean => enodes.isAt(ip) || enrBootnodes.some((record) => record.ip === ip)
  const enodes = createEnodeBootnodes(
    {
      clock,
      logger,
      async resolve(bootnode) {
        if (socket === undefined) throw new Error('no socket')
        return resolveEnode(bootnode, socket)
      },
      contact(endpoint) {
        if (isAllowed(parseIp(endpoint.ip), netrestrict)) own.service()?.contact(endpoint)
      },
      isRunning: () => isRunning,
    },
    bootnodes.filter((bootnode) => bootnode.kind === 'enode'),
  )
  const stored = async (): Promise<NodeRecord[]> =>
    (await store.load()).flatMap((text) => {
      try {
        return [parseRecord(text)]
      } catch (error) {
        logger.debug('Ignored a stored record', { err: describeError(error) })
        return []
      }
    })

  return {
    /** Throws UsageError when the port is in use. */
    async start(reach: Reach): Promise<void> {
      const saved = await stored()
      const earlier = saved.filter(({ publicKey }) => !equalBytes(publicKey, ownKey))
      const sequenceAbove = saved.find((record) => !earlier.includes(record))?.sequence ?? -1n
      socket = await modules.openSocket({
        ip: setup.listenIp,
        port: setup.listenUdpPort,
        isAllowed: (ip) => isAllowed(parseIp(ip), netrestrict),
      })
      await own.start(socket, reach, sequenceAbove)
      isRunning = true
      const first = [...earlier, ...enrBootnodes].filter(
        (record) => record.ip !== undefined && isAllowed(parseIp(record.ip), netrestrict),
      )
      for (const record of first) {
        own.service()?.add(record)
        onRecord(record)
      }
      logger.info('Started discovery service', {
        enr: own.service()?.local().text,
        udp: socket.port,
        bootnodes: bootnodes.length,
        known: earlier.length,
        ...(netrestrict.length === 0 ? {} : { netrestrict: netrestrict.map(formatCidr).join(',') }),
      })
      after('lookup', 0, runLookup)
      after('save', SAVE_INTERVAL_MS, saveRegularly)
      after('report again', REPORT_AGAIN_MS, reportAgain)
      after('renew', FIRST_RENEW_MS, () => renewSessions(SECOND_RENEW_MS))
      after('silence', SILENT_BOOTNODES_MS, reportSilence)
    },
    async stop(): Promise<void> {
      isRunning = false
      for (const cancel of timers.values()) cancel()
      await save().catch((error: unknown) =>
        logger.error('Saving the discovery store failed', { err: describeError(error) }),
      )
      await own.stop()
      await socket?.close()
    },
    /** This node's own record; empty before the start. */
    localEnr: (): string => own.service()?.local().text ?? '',
    listeningPort: (): number | undefined => socket?.port,
    setExternal: own.setExternal,
    table: (): NodeRecord[] => own.service()?.table() ?? [],
    sessions: (): number => own.service()?.sessions() ?? 0,
  }
}

function enrsOf(bootnodes: readonly Bootnode[]): NodeRecord[] {
  return bootnodes.flatMap((bootnode) => (bootnode.kind === 'enr' ? [parseRecord(bootnode.text)] : []))
}
