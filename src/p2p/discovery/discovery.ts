import { equalBytes } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import { describeError } from '../../lib/errors.ts'
import { formatCidr, parseCidr, parseIp } from '../../lib/ipNet.ts'
import type { Logger } from '../../lib/logger.ts'
import { LruMap } from '../../lib/lruMap.ts'
import { publicKeyOf } from '../../lib/secp256k1.ts'
import { type Bootnode, type Endpoint, parseBootnodes, resolveEnode } from './bootnodes.ts'
import { FAST_INTERVAL_MS, SLOW_INTERVAL_MS } from './connector.ts'
import { createDiscv5, type Discv5Service, type LocalRecord, parseRecord, type SeenEndpoint } from './discv5.ts'
import type { NodeRecord } from './nodeRecord.ts'
import { MAX_STORED_RECORDS, openNodeStore } from './nodeStore.ts'
import { encodeOpstackEntry, OPSTACK_VERSION } from './opstackEntry.ts'
import { isAllowed, isLocalIp, refusalOf } from './recordFilter.ts'
import { openUdpSocket, type UdpSocket } from './udpSocket.ts'

export interface DiscoveryModules {
  clock: Clock
  logger: Logger
  /** 32 bytes, the key of the peer id. */
  privateKey: Uint8Array
  /** A node of our chain with an address was found, or its record has changed; known ones are told again every 6 h. */
  onPeer(record: NodeRecord): void
  /** Enough peers are connected: looking goes on slowly. */
  isSatisfied(): boolean
}

export interface DiscoverySetup {
  chainId: bigint
  listenIp: string
  /** 0 lets the system choose. */
  listenUdpPort: number
  /** 0: the UDP port listened on. */
  advertiseUdpPort: number
  bootnodes: readonly string[]
  /** Folder, or `memory`. */
  storePath: string
  /** CIDR ranges; empty: no limit. */
  netrestrict: readonly string[]
}

/** How others reach libp2p, known once it listens. */
export interface Reach {
  /** Undefined: learned from what others see. */
  advertisedIp: string | undefined
  tcpPort: number
}

export interface Discovery {
  /** Throws UsageError when the port is taken. */
  start(reach: Reach): Promise<void>
  stop(): Promise<void>
  /** This node's own record; empty before the start. */
  localEnr(): string
  table(): NodeRecord[]
}

/** The first rounds follow each other sooner: nodes of a testnet start together, and find each other only when all are there. */
const FIRST_ROUND_MS = 500
const RESOLVE_AGAIN_MS = 60_000
const PINGS_FOR_ADDRESS = 8
const FIRST_RENEW_MS = 30_000
const SECOND_RENEW_MS = 5 * 60_000
const MAX_RENEW_MS = 6 * 60 * 60_000
/** Well before the peer store forgets an address. */
const TELL_AGAIN_MS = 6 * 60 * 60_000
const SAVE_INTERVAL_MS = 60_000
const SILENT_BOOTNODES_MS = 60_000
const KNOWN_RECORDS = 4096

/**
 * Finds nodes of the chain by discv5: begins at the bootnodes and at the nodes of the last run, looks up random ids
 * every 5 s while peers are wanted and every 20 s after that, and passes on each record that fits.
 * Throws UsageError when a bootnode's record is invalid.
 */
export function createDiscovery(modules: DiscoveryModules, setup: DiscoverySetup): Discovery {
  const { clock } = modules
  const logger = modules.logger.child({ module: 'discovery' })
  const netrestrict = setup.netrestrict.map(parseCidr)
  const filter = { chainId: setup.chainId, netrestrict }
  const ownKey = publicKeyOf(modules.privateKey)
  const bootnodes = parseBootnodes(setup.bootnodes, parseRecord).filter((bootnode) => {
    const key = bootnode.kind === 'enode' ? bootnode.publicKey : parseRecord(bootnode.text).publicKey
    if (!equalBytes(key, ownKey)) return true
    logger.info('Bootnode list contains this node itself, ignoring it')
    return false
  })
  const enrBootnodes = enrsOf(bootnodes)
  const opstack = encodeOpstackEntry({ chainId: setup.chainId, version: OPSTACK_VERSION })
  const store = openNodeStore(setup.storePath, { logger, clock })
  /** Sequence of each record seen, by node id. */
  const known = new LruMap<string, bigint>(KNOWN_RECORDS)
  /** Records of our chain, the latest of each node; the oldest leave first. */
  const ours = new Map<string, NodeRecord>()
  const enodes: EnodeState[] = bootnodes.flatMap((bootnode) =>
    bootnode.kind === 'enode'
      ? [{ bootnode, endpoint: undefined, isResolving: false, hasWarned: false, retryAtMs: 0 }]
      : [],
  )
  const timers = new Map<string, () => void>()
  let socket: UdpSocket | undefined
  let service: Discv5Service | undefined
  let isRunning = false
  let isDirty = false
  let isLookingUp = false
  let moving: Promise<void> | undefined
  let hasHeard = false
  let rounds = 0

  const after = (name: string, delayMs: number, run: () => void | Promise<void>): void => {
    timers.get(name)?.()
    const cancel = clock.setTimeout(() => {
      if (!isRunning) return
      Promise.resolve(run()).catch((error: unknown) =>
        logger.warn('Discovery failed for a moment', { part: name, err: describeError(error) }),
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
      after('lookup', 0, lookUp)
    }
    const refusal = refusalOf(record, filter, service?.local().ip)
    if (refusal !== undefined) {
      logger.trace('Left a discovered node alone', { node: record.nodeId, reason: refusal })
      return
    }
    ours.delete(record.nodeId)
    ours.set(record.nodeId, record)
    if (ours.size > MAX_STORED_RECORDS) ours.delete([...ours.keys()][0] ?? '')
    logger.debug('Discovered a peer', { node: record.nodeId, ip: record.ip, port: record.tcpPort })
    modules.onPeer(record)
  }
  const lookUp = async (): Promise<void> => {
    if (isLookingUp || service === undefined) return
    isLookingUp = true
    try {
      contactMissing()
      if (service.local().ip === undefined) service.table().slice(0, PINGS_FOR_ADDRESS).forEach(service.ping)
      await service.lookup()
    } finally {
      isLookingUp = false
      const intervalMs = modules.isSatisfied() ? SLOW_INTERVAL_MS : FAST_INTERVAL_MS
      if (isRunning) after('lookup', Math.min(intervalMs, FIRST_ROUND_MS * 2 ** Math.min(rounds, 10)), lookUp)
      rounds += 1
    }
  }
  /** Bootnodes without a record that are not in the table yet: asked again in each round, resolved again if need be. */
  const contactMissing = (): void => {
    const inTable = new Set(service?.table().map((record) => Buffer.from(record.publicKey).toString('hex')))
    for (const state of enodes) {
      if (!inTable.has(Buffer.from(state.bootnode.publicKey).toString('hex'))) void contact(state)
    }
  }
  const contact = async (state: EnodeState): Promise<void> => {
    const endpoint = state.endpoint ?? (await resolve(state))
    if (endpoint === undefined || !isRunning || !isAllowed(parseIp(endpoint.ip), netrestrict)) return
    try {
      service?.contact(endpoint)
    } catch (error) {
      logger.debug('Bootnode cannot be asked', { ip: endpoint.ip, err: describeError(error) })
    }
  }
  const resolve = async (state: EnodeState): Promise<Endpoint | undefined> => {
    if (state.isResolving || clock.now() < state.retryAtMs) return undefined
    state.isResolving = true
    try {
      state.endpoint = await resolveEnode(state.bootnode)
    } catch (error) {
      state.retryAtMs = clock.now() + RESOLVE_AGAIN_MS
      if (!state.hasWarned && isRunning) {
        state.hasWarned = true
        logger.warn('Bootnode cannot be resolved, going on without it for now', {
          host: state.bootnode.host,
          err: describeError(error),
        })
      }
    } finally {
      state.isResolving = false
    }
    return state.endpoint
  }
  const save = async (): Promise<void> => {
    if (!isDirty) return
    isDirty = false
    const records = [...ours.values(), ...(service?.table() ?? [])].map((record) => record.text)
    await store.save([...new Set(records)].slice(0, MAX_STORED_RECORDS))
  }
  const saveRegularly = async (): Promise<void> => {
    after('save', SAVE_INTERVAL_MS, saveRegularly)
    await save()
  }
  const tellAgain = (): void => {
    after('tell again', TELL_AGAIN_MS, tellAgain)
    for (const record of ours.values()) modules.onPeer(record)
  }
  const reportSilence = (): void => {
    if (bootnodes.length === 0 || service === undefined || service.connected() > 0) return
    logger.warn('No bootnode answers: is UDP open?', { bootnodes: bootnodes.length, listening: socket?.port })
  }
  const startService = async (on: UdpSocket, reach: Reach, learned: KnownSelf = {}): Promise<void> => {
    const local: LocalRecord = {
      // Later than any of an earlier run.
      sequence: learned.sequence ?? BigInt(clock.now()),
      ip: reach.advertisedIp ?? learned.ip ?? specificIp(setup.listenIp),
      tcpPort: reach.tcpPort,
      udpPort: setup.advertiseUdpPort === 0 ? (learned.udpPort ?? on.port) : setup.advertiseUdpPort,
      opstack,
    }
    service = createDiscv5(
      {
        socket: on,
        privateKey: modules.privateKey,
        listener: { onRecord, onSeen: (endpoint) => onSeen(on, reach, endpoint), onLocalChange: reportAddress },
      },
      local,
      { fixedAddress: reach.advertisedIp !== undefined },
    )
    await service.start()
  }
  const reportAddress = (): void => logger.info('Discovery learned our address', { enr: service?.local().text })
  /**
   * Nobody lists a node whose record has no address, so the first word of a bootnode, or of a node on our own network,
   * is taken for it; a majority corrects it later. Only a new session carries the new record to those that know us.
   */
  const onSeen = (on: UdpSocket, reach: Reach, endpoint: SeenEndpoint): void => {
    const old = service
    if (!isRunning || old === undefined || old.local().ip !== undefined || moving !== undefined) return
    if (!isBootnode(endpoint.nodeIp) && !isLocalIp(endpoint.nodeIp)) return
    moving = restart(old, on, reach, { ip: endpoint.ip, udpPort: endpoint.udpPort }).finally(() => {
      moving = undefined
    })
  }
  /** With new sessions and the same table. */
  const restart = async (old: Discv5Service, on: UdpSocket, reach: Reach, learned: KnownSelf): Promise<void> => {
    try {
      const table = old.table()
      await old.stop()
      if (!isRunning) return
      await startService(on, reach, learned)
      for (const record of table) service?.add(record)
      if (old.local().ip !== service?.local().ip) reportAddress()
      after('lookup', 0, lookUp)
    } catch (error) {
      logger.warn('Discovery could not begin new sessions', { err: describeError(error) })
    }
  }
  /**
   * A node lists others when they shake hands. One that was not ready for it then (go-ethereum's for its first seconds)
   * would never list us while the session lasts, and nobody would hear of us.
   */
  const renewSessions = (on: UdpSocket, reach: Reach, nextMs: number): void => {
    after('renew', nextMs, () => renewSessions(on, reach, Math.min(MAX_RENEW_MS, nextMs * 2)))
    const old = service
    if (old === undefined || moving !== undefined || modules.isSatisfied()) return
    moving = restart(old, on, reach, old.local()).finally(() => {
      moving = undefined
    })
  }
  const isBootnode = (ip: string): boolean =>
    enodes.some((state) => state.endpoint?.ip === ip) || enrBootnodes.some((record) => record.ip === ip)
  const stored = async (): Promise<NodeRecord[]> =>
    (await store.load()).flatMap((text) => {
      try {
        return [parseRecord(text)]
      } catch (error) {
        logger.debug('Left out a stored record', { err: describeError(error) })
        return []
      }
    })

  return {
    async start(reach) {
      const earlier = await stored()
      socket = await openUdpSocket(
        { clock },
        {
          ip: setup.listenIp,
          port: setup.listenUdpPort,
          isAllowed: (ip) => isAllowed(parseIp(ip), netrestrict),
        },
      )
      await startService(socket, reach)
      isRunning = true
      const first = [...earlier, ...enrBootnodes].filter(
        (record) => record.ip !== undefined && isAllowed(parseIp(record.ip), netrestrict),
      )
      for (const record of first) {
        service?.add(record)
        onRecord(record)
      }
      logger.info('Started discovery service', {
        enr: service?.local().text,
        udp: socket.port,
        bootnodes: bootnodes.length,
        known: earlier.length,
        ...(netrestrict.length === 0 ? {} : { netrestrict: netrestrict.map(formatCidr).join(',') }),
      })
      after('lookup', 0, lookUp)
      after('save', SAVE_INTERVAL_MS, saveRegularly)
      after('tell again', TELL_AGAIN_MS, tellAgain)
      const on = socket
      after('renew', FIRST_RENEW_MS, () => renewSessions(on, reach, SECOND_RENEW_MS))
      after('silence', SILENT_BOOTNODES_MS, reportSilence)
    },
    async stop() {
      isRunning = false
      await moving
      for (const cancel of timers.values()) cancel()
      await save().catch((error: unknown) =>
        logger.error('Saving the discovery store failed', { err: describeError(error) }),
      )
      await service?.stop()
      await socket?.close()
    },
    localEnr: () => service?.local().text ?? '',
    table: () => service?.table() ?? [],
  }
}

/** What was learned of this node itself; with the sequence when nothing has changed since. */
type KnownSelf = { [K in 'ip' | 'udpPort' | 'sequence']?: NodeRecord[K] | undefined }

interface EnodeState {
  bootnode: Bootnode & { kind: 'enode' }
  endpoint: Endpoint | undefined
  isResolving: boolean
  hasWarned: boolean
  /** When its name is looked up again. */
  retryAtMs: number
}

function enrsOf(bootnodes: readonly Bootnode[]): NodeRecord[] {
  return bootnodes.flatMap((bootnode) => (bootnode.kind === 'enr' ? [parseRecord(bootnode.text)] : []))
}

/** An address that is not "all" is where others reach us, as far as we know. */
function specificIp(listenIp: string): string | undefined {
  return listenIp === '0.0.0.0' || listenIp === '::' ? undefined : listenIp
}
