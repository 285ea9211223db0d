import { randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import {
  createKeypair,
  Discv5,
  type ITransportService,
  multiaddrFromSocketAddress,
  multiaddrToSocketAddress,
  SessionService,
} from '@chainsafe/discv5'
import { decodePacket, encodePacket, type IPacket } from '@chainsafe/discv5/packet'
import { ENR, SignableENR, setV4Crypto } from '@chainsafe/enr'
import { equalBytes } from '../../lib/bytes.ts'
import type { Clock } from '../../lib/clock.ts'
import { DecodeError, describeError } from '../../lib/errors.ts'
import { keccak256 } from '../../lib/hash.ts'
import { formatIp, parseIp } from '../../lib/ipNet.ts'
import { decompressPublicKey, publicKeyOf, recoverCompact, signHash } from '../../lib/secp256k1.ts'
import { nodeIdOfKey } from '../host/nodeId.ts'
import type { Endpoint } from './bootnodes.ts'
import { forgetSessions, hasOpenRequests, releaseAnsweredRecordRequest } from './discv5Internals.ts'
import { type NodeRecord, readEntries } from './nodeRecord.ts'
import { OPSTACK_KEY } from './opstackEntry.ts'
import { readRecordsAsSigned } from './signedRecords.ts'
import type { UdpSocket } from './udpSocket.ts'

export interface LocalRecord {
  /** Undefined: not known. Other nodes can contact this node only if one of the two is known. */
  ip4: string | undefined
  ip6: string | undefined
  tcpPort: number
  udpPort: number
  /** Ports for IPv6. */
  tcp6Port: number
  udp6Port: number
  /** Content of the `opstack` entry; undefined for a node that serves discovery only. */
  opstack: Uint8Array | undefined
}

/** The information in a PONG. */
export interface SeenEndpoint {
  /** The address at which the other node sees us. */
  ip: string
  udpPort: number
  /** The address of the node that sent the PONG. */
  nodeIp: string
}

export interface Discv5Listener {
  /** A record was received or entered the table. The same record may be reported often. */
  onRecord(record: NodeRecord): void
  /**
   * A handshake with a node whose record has its address succeeded. A request to this node now takes one round trip.
   */
  onSession(record: NodeRecord): void
  onSeen(endpoint: SeenEndpoint): void
  /** Enough nodes agree on our address, so the library changed the local record. */
  onLocalChange(): void
}

/** The library's defaults, with documented exceptions. */
const CONFIG = {
  addrVotesToUpdateEnr: 10,
  requestTimeout: 1_000,
  requestRetries: 1,
  sessionTimeout: 86_400_000,
  sessionEstablishTimeout: 15_000,
  sessionCacheCapacity: 2_000,
  lookupParallelism: 3,
  lookupRequestLimit: 3,
  lookupNumResults: 16,
  lookupTimeout: 60_000,
  pingInterval: 300_000,
  // As go-ethereum: a node behind NAT may send requests, but only a node with a verified address enters the table.
  allowUnverifiedSessions: true,
}
/** A handshake takes about 10 ms. The other sessions are renewed at their next request. */
const RENEWED_AT_ONCE = 16
const PING = 1
const PONG = 2
const RAW_CONTACT = 1
/**
 * From any node, half of all nodes are at distance 256, a quarter at 255, and so on. A node answers with at most 16
 * records (go-ethereum), starting with the first distance. So the largest distance is requested alone.
 */
const DISTANCES = [[256], Array.from({ length: 16 }, (_, nearer) => 255 - nearer)]

useNativeCrypto()
readRecordsAsSigned()

/** Verifies the signature. Throws DecodeError. */
export function parseRecord(text: string): NodeRecord {
  return toRecord(parseEnr(text))
}

function parseEnr(text: string): ENR {
  try {
    return ENR.decodeTxt(text)
  } catch (cause) {
    throw new DecodeError(`invalid ENR: ${describeError(cause)}`, { cause })
  }
}

/** A record is immutable for its sequence number, so it is decoded once. */
const read = new WeakMap<ENR, NodeRecord>()

function toRecord(enr: ENR): NodeRecord {
  let record = read.get(enr)
  if (record === undefined) {
    record = {
      text: enr.encodeTxt(),
      nodeId: enr.nodeId,
      sequence: enr.seq,
      publicKey: enr.publicKey,
      ...readEntries(enr.kvs),
    }
    read.set(enr, record)
  }
  return record
}

/** discv5 for the rest of this folder: records and endpoints, without the library's types. */
export type Discv5Service = ReturnType<typeof createDiscv5>

/**
 * Creates the service on an open socket. `fixedAddress`: PONGs do not change the local record. `sequenceAbove`:
 * sequence number of the last run's record. Nodes that know that record only accept a higher number.
 */
export function createDiscv5(
  modules: { socket: UdpSocket; clock: Pick<Clock, 'now'>; privateKey: Uint8Array; listener: Discv5Listener },
  local: LocalRecord,
  options: { fixedAddress: boolean; sequenceAbove?: bigint; requestTimeoutMs?: number | undefined },
) {
  const { socket, privateKey, listener } = modules
  const { fixedAddress, requestTimeoutMs: requestTimeout = CONFIG.requestTimeout } = options
  const config = { ...CONFIG, requestTimeout, enrUpdate: !fixedAddress }
  // Without a stored sequence the time is higher than any earlier one, unless the clock was set back.
  const nowMs = BigInt(modules.clock.now())
  const above = options.sequenceAbove ?? -1n
  const sequence = nowMs > above ? nowMs : above + 1n
  const enr = new SignableENR(identityEntries(local, privateKey), sequence, privateKey)
  announceIn(enr, local)
  const transport = new SocketTransport(socket, enr.nodeId)
  const keypair = createKeypair({ type: 'secp256k1', privateKey, publicKey: publicKeyOf(privateKey) })
  const session = new SessionWithRecords(config, enr, keypair, transport)
  const service = new Discv5(config, session)
  const onEnr = (found: ENR): void => {
    if (found.nodeId !== enr.nodeId) listener.onRecord(toRecord(found))
  }
  const events = eventsOf(service)
  events.on('discovered', onEnr)
  events.on('enrAdded', onEnr)
  events.on('multiaddrUpdated', () => listener.onLocalChange())
  eventsOf(session).on('established', (_from: Sender, found: ENR, _direction: unknown, isVerified: boolean) => {
    releaseAnsweredRecordRequest(session, found.nodeId)
    if (!isVerified) return
    const record = toRecord(found)
    // Of a node that it lists, the library reports no newer record.
    if (record.ip !== undefined) listener.onRecord(record)
    // The library stores the session keys after this event. A request sent now would start a second handshake.
    queueMicrotask(() => listener.onSession(record))
  })
  eventsOf(session).on('response', (from: Sender, response: Response) => {
    if (response.type !== PONG || response.addr === undefined) return
    listener.onSeen({
      ip: formatIp(response.addr.ip.octets),
      udpPort: response.addr.port,
      nodeIp: formatIp(multiaddrToSocketAddress(from.socketAddr).ip.octets),
    })
  })
  const ping = (record: NodeRecord): void => {
    service.sendPing(parseEnr(record.text)).catch(() => {
      // The node does not answer. Other nodes will.
    })
  }

  return {
    start: (): Promise<void> => service.start(),
    /** Leaves the socket open. */
    stop: (): Promise<void> => service.stop(),
    local: (): NodeRecord => toRecord(enr.toENR()),
    /** Changes the local record. A node that does not list us receives the new record only in a new session. */
    update(next: LocalRecord, { fixedAddress }: { fixedAddress: boolean }): void {
      config.enrUpdate = !fixedAddress
      announceIn(enr, next)
    },
    /** True: a request of ours is still unanswered. */
    isWaiting: (): boolean => hasOpenRequests(session),
    /** Discards all sessions and pings some nodes. Every other node gets a new handshake at its next request. */
    renewSessions(): void {
      forgetSessions(session)
      service.kadValues().slice(0, RENEWED_AT_ONCE).map(toRecord).forEach(ping)
    },
    /** Nodes in the routing table, whether they answer or not. */
    table: (): NodeRecord[] => service.kadValues().map(toRecord),
    sessions: (): number => session.sessionsSize(),
    add: (record: NodeRecord): void => service.addEnr(record.text),
    /** Requests the record of a node, and our address as it sees it. The node enters the table when it has answered. */
    contact({ publicKey, ip, udpPort }: Endpoint): void {
      // The service's own methods do not work here: they take multiaddresses with a peer id, and then reject an answer
      // from an address without one.
      const node = {
        type: RAW_CONTACT,
        publicKey: createKeypair({ type: 'secp256k1', publicKey }),
        nodeAddress: { socketAddr: socketMultiaddr(ip, udpPort), nodeId: nodeIdOfKey(publicKey) },
      }
      // The library requests the node's record during the handshake.
      session.sendRequest(node, { type: PING, id: requestId(), enrSeq: enr.seq })
    },
    /** Sends a PING, to learn our address as the node sees it. */
    ping,
    /** Requests all nodes that a node lists, as many as fit into its answers. */
    requestNodes(record: NodeRecord): void {
      const enr = parseEnr(record.text)
      for (const distances of DISTANCES) {
        service.sendFindNode(enr, distances).catch(() => {
          // The node does not answer. Other nodes will.
        })
      }
    },
    /** Finds the nodes nearest to a random id. Returns at once if the table is empty. */
    async lookup(): Promise<void> {
      if (service.kadValues().length > 0) await service.findRandomNode()
    },
  }
}

/** The library's types omit its base class. */
function eventsOf(service: unknown): EventEmitter {
  if (service instanceof EventEmitter) return service
  throw new TypeError('discv5: not an emitter of events')
}

/** Members of the library's session events. */
interface Sender {
  socketAddr: Parameters<ITransportService['send']>[0]
}
interface Response {
  type: number
  addr?: { ip: { octets: Uint8Array }; port: number }
}

function requestId(): bigint {
  return randomBytes(8).readBigUInt64BE()
}

function identityEntries(local: LocalRecord, privateKey: Uint8Array): Record<string, Uint8Array> {
  return {
    id: Buffer.from('v4'),
    secp256k1: publicKeyOf(privateKey),
    ...(local.opstack === undefined ? {} : { [OPSTACK_KEY]: local.opstack }),
  }
}

/** Every change increases the sequence number. */
function announceIn(enr: SignableENR, local: LocalRecord): void {
  const entries: Record<string, Uint8Array | undefined> = {
    ip: local.ip4 === undefined ? undefined : parseIp(local.ip4),
    // Present beside an IPv6 address too, because go-ethereum reads these keys.
    tcp: local.tcpPort === 0 ? undefined : portBytes(local.tcpPort),
    udp: portBytes(local.udpPort),
    ip6: local.ip6 === undefined ? undefined : parseIp(local.ip6),
    tcp6: local.ip6 === undefined || local.tcp6Port === 0 ? undefined : portBytes(local.tcp6Port),
    udp6: local.ip6 === undefined ? undefined : portBytes(local.udp6Port),
  }
  for (const [key, value] of Object.entries(entries)) {
    if (value !== undefined) enr.set(key, value)
    else if (enr.kvs.has(key)) enr.delete(key)
  }
}

function portBytes(port: number): Uint8Array {
  return Uint8Array.of(port >> 8, port & 0xff)
}

function socketMultiaddr(ip: string, port: number): ReturnType<typeof multiaddrFromSocketAddress> {
  const octets = parseIp(ip)
  return multiaddrFromSocketAddress({ ip: { type: octets.length === 4 ? 4 : 6, octets }, port })
}

/**
 * Requests the record in every handshake. The library would name the sequence number that it knows, but in the wrong
 * bytes (discv5-wire: a big-endian uint64): the other node would take it for a later one than its own, and a node that
 * has moved would stay listed at its old address.
 */
class SessionWithRecords extends SessionService {
  override sendChallenge(to: Parameters<SessionService['sendChallenge']>[0], nonce: Uint8Array): void {
    super.sendChallenge(to, nonce, null)
  }
}

/** Transports packets between the library and our socket. */
class SocketTransport extends EventEmitter implements Pick<ITransportService, 'bindAddrs' | 'ipMode' | 'send'> {
  readonly bindAddrs: ITransportService['bindAddrs']
  readonly ipMode: ITransportService['ipMode']
  private readonly socket: UdpSocket
  private readonly nodeId: string

  constructor(socket: UdpSocket, nodeId: string) {
    super()
    this.socket = socket
    this.nodeId = nodeId
    this.bindAddrs = [socketMultiaddr(socket.hasIp4 ? '127.0.0.1' : '::1', socket.port)]
    if (socket.hasIp4 && socket.hasIp6) this.ipMode = { ip4: true, ip6: true }
    else this.ipMode = socket.hasIp4 ? { ip4: true, ip6: false } : { ip4: false, ip6: true }
  }

  async start(): Promise<void> {
    this.socket.onPacket((bytes, ip, port) => {
      try {
        this.emit('packet', socketMultiaddr(ip, port), decodePacket(this.nodeId, bytes))
      } catch {
        // Malformed packet, or a handshake with an invalid key. A packet of an unauthenticated peer must never end the
        // process.
      }
    })
  }

  async stop(): Promise<void> {
    this.socket.onPacket(undefined)
  }

  async send(to: Parameters<ITransportService['send']>[0], toId: string, packet: IPacket): Promise<void> {
    const { ip, port } = multiaddrToSocketAddress(to)
    this.socket.send(formatIp(ip.octets), port, encodePacket(toId, packet))
  }

  getContactableAddr(): undefined {
    return undefined
  }
}

/** The library's own signatures are in JavaScript. A packet with five records would block the event loop for 10 ms. */
function useNativeCrypto(): void {
  setV4Crypto({
    publicKey: (privateKey) => publicKeyOf(privateKey),
    sign(privateKey, message) {
      const { r, s } = signHash(keccak256(message), privateKey)
      return Uint8Array.from([...r, ...s])
    },
    verify(publicKey, message, signature) {
      if (signature.length !== 64) return false
      const expected = decompressPublicKey(publicKey).subarray(1)
      const hash = keccak256(message)
      return [0, 1].some((yParity) => {
        try {
          return equalBytes(recoverCompact(hash, signature, yParity), expected)
        } catch {
          return false
        }
      })
    },
    nodeId: nodeIdOfKey,
  })
}
