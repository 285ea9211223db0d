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
import type { Endpoint } from './bootnodes.ts'
import { forgetSessions, hasOpenRequests, releaseAnsweredRecordRequest } from './discv5Internals.ts'
import { type NodeRecord, readEntries } from './nodeRecord.ts'
import { OPSTACK_KEY } from './opstackEntry.ts'
import { readRecordsAsSigned } from './signedRecords.ts'
import type { UdpSocket } from './udpSocket.ts'

/** What this node says of itself. */
export interface LocalRecord {
  /** Undefined: not known. Others cannot contact us until one of them is. */
  ip4: string | undefined
  ip6: string | undefined
  tcpPort: number
  udpPort: number
  /** Of IPv6. */
  tcp6Port: number
  udp6Port: number
  /** Content of the `opstack` entry; undefined for a node that only serves discovery. */
  opstack: Uint8Array | undefined
}

/** What an answer to a ping tells. */
export interface SeenEndpoint {
  /** Where the other node sees us. */
  ip: string
  udpPort: number
  /** The node that says so. */
  nodeId: string
  nodeIp: string
}

export interface Discv5Listener {
  /** A record was heard of or has joined the table; the same one may come often. */
  onRecord(record: NodeRecord): void
  /** Shook hands with a node whose record says where it is; requests to it take one round trip now. */
  onSession(record: NodeRecord): void
  /** A node has answered a ping. */
  onSeen(endpoint: SeenEndpoint): void
  /** Enough nodes agree on where they see us: the local record has changed. */
  onLocalChange(): void
}

/** The library's default settings, but for what is said. */
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
  // As go-ethereum: whoever stands behind NAT may ask us, though only those with a true address join the table.
  allowUnverifiedSessions: true,
}
/** A handshake takes some 10 ms; the others follow when they are asked for something. */
const RENEWED_AT_ONCE = 16
const PING = 1
const PONG = 2
const RAW_CONTACT = 1
/**
 * Half of all nodes are at distance 256 from any one, a quarter at 255, and so on. A node answers with 16 records at most
 * (go-ethereum), those of the first distance first: so the farthest are asked for alone.
 */
const DISTANCES = [[256], Array.from({ length: 16 }, (_, nearer) => 255 - nearer)]

useNativeCrypto()
readRecordsAsSigned()

/** Checks the signature. Throws DecodeError. */
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

/** Records change with their sequence only, so reading each once is enough. */
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

/** discv5 as the rest of this folder sees it: records and endpoints, no type of the library. */
export type Discv5Service = ReturnType<typeof createDiscv5>

/**
 * Builds the service on an open socket. `fixedAddress`: what others see changes nothing. `sequenceAbove`: of an earlier
 * run's record; whoever knows that one takes no other that is not later.
 */
export function createDiscv5(
  modules: { socket: UdpSocket; clock: Pick<Clock, 'now'>; privateKey: Uint8Array; listener: Discv5Listener },
  local: LocalRecord,
  options: { fixedAddress: boolean; sequenceAbove?: bigint; requestTimeoutMs?: number | undefined },
) {
  const { socket, privateKey, listener } = modules
  const { fixedAddress, requestTimeoutMs: requestTimeout = CONFIG.requestTimeout } = options
  const config = { ...CONFIG, requestTimeout, enrUpdate: !fixedAddress }
  // Where nothing was kept of earlier runs, the time is later than theirs, unless the clock was set back.
  const nowMs = BigInt(modules.clock.now())
  const above = options.sequenceAbove ?? -1n
  const sequence = nowMs > above ? nowMs : above + 1n
  const enr = new SignableENR(identityEntries(local, privateKey), sequence, privateKey)
  announceIn(enr, local)
  const transport = new SocketTransport(socket, enr.nodeId)
  const keypair = createKeypair({ type: 'secp256k1', privateKey, publicKey: publicKeyOf(privateKey) })
  const session = new SessionService(config, enr, keypair, transport)
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
    // The keys are stored after this event: a request sent now would begin a second handshake.
    if (isVerified) queueMicrotask(() => listener.onSession(toRecord(found)))
  })
  eventsOf(session).on('response', (from: Sender, response: Response) => {
    if (response.type !== PONG || response.addr === undefined) return
    listener.onSeen({
      ip: formatIp(response.addr.ip.octets),
      udpPort: response.addr.port,
      nodeId: from.nodeId,
      nodeIp: formatIp(multiaddrToSocketAddress(from.socketAddr).ip.octets),
    })
  })
  const ping = (record: NodeRecord): void => {
    service.sendPing(parseEnr(record.text)).catch(() => {
      // It does not answer: others will.
    })
  }

  return {
    start: (): Promise<void> => service.start(),
    /** Leaves the socket open. */
    stop: (): Promise<void> => service.stop(),
    local: (): NodeRecord => toRecord(enr.toENR()),
    /** Changes the local record. Only new sessions carry it to nodes that do not list this one. */
    update(next: LocalRecord, { fixedAddress }: { fixedAddress: boolean }): void {
      config.enrUpdate = !fixedAddress
      announceIn(enr, next)
    },
    /** Whether an answer to something that we asked is still to come. */
    isAsking: (): boolean => hasOpenRequests(session),
    /** Shakes hands anew with whoever is asked next, some of the table now. */
    renewSessions(): void {
      forgetSessions(session)
      service.kadValues().slice(0, RENEWED_AT_ONCE).map(toRecord).forEach(ping)
    },
    /** Nodes in the routing table, answering or not. */
    table: (): NodeRecord[] => service.kadValues().map(toRecord),
    /** Nodes that a key is agreed on with. */
    sessions: (): number => session.sessionsSize(),
    add: (record: NodeRecord): void => service.addEnr(record.text),
    /** Asks a node without a record for it, and where it sees us; it joins the table once it has answered. */
    contact({ publicKey, ip, udpPort }: Endpoint): void {
      // Not through the service's own methods: those take multiaddresses with a peer id, and then find that the answer
      // comes from an address without one.
      const node = {
        type: RAW_CONTACT,
        publicKey: createKeypair({ type: 'secp256k1', publicKey }),
        nodeAddress: { socketAddr: socketMultiaddr(ip, udpPort), nodeId: nodeIdOfKey(publicKey) },
      }
      // It is asked for its record by the library, when the hands are shaken.
      session.sendRequest(node, { type: PING, id: requestId(), enrSeq: enr.seq })
    },
    /** Asks a node where it sees us. */
    ping,
    /** Asks a node for those that it lists, as many as fit into its answers. */
    askForNodes(record: NodeRecord): void {
      const enr = parseEnr(record.text)
      for (const distances of DISTANCES) {
        service.sendFindNode(enr, distances).catch(() => {
          // It does not answer: others will.
        })
      }
    },
    /** Looks for the nodes nearest to a random id; returns at once while the table is empty. */
    async lookup(): Promise<void> {
      if (service.kadValues().length > 0) await service.findRandomNode()
    },
  }
}

/** The library's types lose its base class. */
function eventsOf(service: unknown): EventEmitter {
  if (service instanceof EventEmitter) return service
  throw new TypeError('discv5: not an emitter of events')
}

/** As the library's session reports them. */
interface Sender {
  nodeId: string
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

/** Every change raises the sequence. */
function announceIn(enr: SignableENR, local: LocalRecord): void {
  const entries: Record<string, Uint8Array | undefined> = {
    ip: local.ip4 === undefined ? undefined : parseIp(local.ip4),
    // With an IPv6 address too: go-ethereum reads those.
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

/** Packets between the library and our socket. */
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
        // Garbage, or a handshake with a key that is none: a stranger's packet never ends the process.
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

function nodeIdOfKey(publicKey: Uint8Array): string {
  return Buffer.from(keccak256(decompressPublicKey(publicKey).subarray(1))).toString('hex')
}

/** The library's own signatures are JavaScript: a packet with five records would hold the event loop for 10 ms. */
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
