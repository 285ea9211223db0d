import { z } from 'zod'
import { JsonRpcError, type JsonValue, RPC_SERVER_ERROR } from '../jsonRpc/types.ts'
import { DecodeError } from '../lib/errors.ts'
import { cidrToIpNet, type IpNet, ipNetToCidr } from '../lib/ipNet.ts'
import { isObject } from '../lib/jsonReader.ts'
import type { P2pApi, PeerDump, PeerStats } from '../p2p/base/api.ts'
import type { PeerRecord } from '../p2p/base/schemas.ts'
import { defineMethod } from './method.ts'
import { booleanParam, jsonParam, optionalParam, type Param, textParam, wrongType } from './params.ts'
import { eitherResult, NOTHING, type Result, result, type Served } from './results.ts'
import * as schemas from './schemas/peers.ts'

/**
 * The differences between our own namespace and op-node's: the form of a subnet (CIDR text or Go's IPNet object), of an
 * empty list of addresses, the topics in peerStats, and whether the banned include time-limited bans (op-node shows
 * block lists only).
 */
interface Dialect<Namespace extends string, Subnet extends z.ZodType, Peer extends z.ZodType, Stats extends z.ZodType> {
  namespace: Namespace
  subnetSchema: Subnet
  subnet: (cidr: string) => Served<z.output<Subnet>>
  peerSchema: Peer
  peer: (record: PeerRecord) => Served<z.output<Peer>>
  statsSchema: Stats
  stats: (stats: PeerStats) => Served<z.output<Stats>>
  bannedPeers: (dump: PeerDump) => string[]
  /** The parameter with op-node's own error for an empty value. */
  unlessNothing: <Wire>(
    param: Param<string, Wire>,
    isNothing: (value: JsonValue) => boolean,
    error: string,
  ) => Param<string, Wire>
}

const DEVIUM: Dialect<'deviump2p', typeof schemas.cidr, typeof schemas.peerRecord, typeof schemas.peerStats> = {
  namespace: 'deviump2p',
  subnetSchema: schemas.cidr,
  subnet: (cidr) => cidr,
  peerSchema: schemas.peerRecord,
  peer: (record) => record,
  statsSchema: schemas.peerStats,
  stats: ({ blocksTopicV3, blocksTopicV4, timeBanned, ...stats }) => ({ ...stats, banned: stats.banned + timeBanned }),
  bannedPeers: ({ bannedPeers, timeBans }) => [...new Set([...bannedPeers, ...timeBans])],
  unlessNothing: (param) => param,
}

const OP_NODE: Dialect<'opp2p', typeof schemas.ipNet, typeof schemas.opPeerRecord, typeof schemas.opPeerStats> = {
  namespace: 'opp2p',
  subnetSchema: schemas.ipNet,
  subnet: cidrToIpNet,
  peerSchema: schemas.opPeerRecord,
  peer: ({ addresses, ...record }) => ({ ...record, addresses: addresses.length === 0 ? null : addresses }),
  statsSchema: schemas.opPeerStats,
  stats: ({ timeBanned, ...stats }) => stats,
  bannedPeers: ({ bannedPeers }) => bannedPeers,
  unlessNothing: (param, isNothing, error) => ({
    ...param,
    parse(value) {
      if (isNothing(value)) throw new JsonRpcError(RPC_SERVER_ERROR, error)
      return param.parse(value)
    },
  }),
}

const PEER_ID = textParam('peer id', 'a peer id such as "16Uiu2HA…"')
const ADDRESS = textParam('peer address', 'a multiaddress that ends in /p2p/<peer id>')
const SUBJECT = textParam('subject', 'a peer id, an IP address or a subnet such as "10.1.0.0/16"')
const MAX_REASON_CHARACTERS = 200
const REASON = jsonParam<string>(
  'reason',
  `text of at most ${MAX_REASON_CHARACTERS} characters`,
  { type: 'string', maxLength: MAX_REASON_CHARACTERS },
  (value) => (typeof value === 'string' && value.length <= MAX_REASON_CHARACTERS ? value.trim() : wrongType()),
)
const IP = textParam('IP address', 'an IPv4 or IPv6 address')

/** Both namespaces accept both forms: CIDR text and `{"IP": …, "Mask": base64}`. */
const SUBNET: Param<string, string | IpNet> = jsonParam(
  'subnet',
  'CIDR text such as "10.1.0.0/16"',
  { type: ['string', 'object'] },
  (value: JsonValue) => {
    if (typeof value === 'string') return value
    if (!isObject(value)) throw new DecodeError('invalid CIDR address')
    return ipNetToCidr(value)
  },
)

/** Values that Go decodes as empty, which op-node refuses with its own error. */
function isNothing(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === ''
}

/** A subnet without address or mask. Values of another type do not count as empty. */
function isNoSubnet(value: JsonValue): boolean {
  if (!isObject(value)) return value === null
  const parts = [value.IP, value.Mask]
  return parts.some(isNothing) && parts.every((part) => isNothing(part) || typeof part === 'string')
}

/** `deviump2p_*` and `opp2p_*`, served by the running host. */
export function p2pMethods(p2p: P2pApi) {
  return [...dialectMethods(p2p, DEVIUM), ...dialectMethods(p2p, OP_NODE), ...reasonMethods(p2p)]
}

/** Methods that op-node does not have. */
function reasonMethods(p2p: P2pApi) {
  const peer = optionalParam(PEER_ID)
  return [
    defineMethod({
      name: 'deviump2p_peerScore',
      params: [peer],
      result: eitherResult(
        'score report; without a peer id an array of the reports of all connected peers',
        schemas.scoreReport,
      ),
      description: 'Explain a score: its parts, the thresholds, the forecast, and a ban in force',
      handle: async ([id]) => oneOrAll(id, await p2p.peerScore(id)),
    }),
    defineMethod({
      name: 'deviump2p_standings',
      params: [],
      result: result(
        'array of objects: peerID, connected, score, inMesh, static, protected, blocked, ban',
        z.array(schemas.standing),
      ),
      description: 'Short state of connected, banned and blocked peers. Cheap even with hundreds of peers',
      handle: () => p2p.standings(),
    }),
    defineMethod({
      name: 'deviump2p_names',
      params: [],
      result: result('object: names by peer id', z.record(z.string(), z.string())),
      description: 'Names of peers from --p2p.static and --p2p.names',
      handle: () => p2p.names(),
    }),
    defineMethod({
      name: 'deviump2p_peerHistory',
      params: [peer],
      result: eitherResult('peerID, events (oldest first); without a peer id an array', schemas.peerHistory),
      description: 'Events of a peer that affect its score or its access',
      handle: async ([id]) => oneOrAll(id, await p2p.peerHistory(id)),
    }),
    defineMethod({
      name: 'deviump2p_health',
      params: [],
      result: result(
        'object: state, ok, sinceMs, text, topic, connected, subscribers, mesh, staticPeers, otherChains, lastBlock, lastRefused, recent, head, lastMoves, l1Only',
        schemas.gossipHealth,
      ),
      description: 'Whether blocks arrive by gossip; if not, the cause and the action',
      handle: () => p2p.health(),
    }),
    defineMethod({
      name: 'deviump2p_bans',
      params: [],
      result: result('array of objects: subject, kind (peer or ip), reason, untilMs, remainingS', z.array(schemas.ban)),
      description: 'Time-limited bans in force, soonest to expire first',
      handle: () => p2p.bans(),
    }),
    defineMethod({
      name: 'deviump2p_block',
      params: [SUBJECT, optionalParam(REASON)],
      result: NOTHING,
      description: 'Refuse a peer, an IP address or a subnet, close its connections, and record the reason',
      changes: true,
      handle: ([subject, reason]) => p2p.block(subject, reason),
    }),
    defineMethod({
      name: 'deviump2p_accessRules',
      params: [],
      result: result(
        'object: blocks (array of objects: subject, kind (peer, address or subnet), reason, sinceMs), allow (array of texts, or null)',
        schemas.accessRules,
      ),
      description: 'The block lists, with reasons and times, and the entries of --p2p.allow',
      handle: () => p2p.accessRules(),
    }),
  ]
}

function oneOrAll<T>(id: string | undefined, all: T[]): T | T[] {
  const [one] = all
  return id === undefined || one === undefined ? all : one
}

function dialectMethods<N extends string, Subnet extends z.ZodType, Peer extends z.ZodType, Stats extends z.ZodType>(
  p2p: P2pApi,
  dialect: Dialect<N, Subnet, Peer, Stats>,
) {
  const name = <const M extends string>(method: M) => `${dialect.namespace}_${method}` as const
  /** A method with one argument and no result. */
  const action = <const M extends string, Wire>(
    method: M,
    param: Param<string, Wire>,
    description: string,
    run: (value: string) => Promise<void>,
  ) =>
    defineMethod({
      name: name(method),
      params: [param],
      result: NOTHING,
      description,
      changes: true,
      handle: ([value]) => run(value),
    })
  const list = <const M extends string, S extends z.ZodType>(
    method: M,
    result: Result<S>,
    description: string,
    run: () => Promise<Served<z.output<S>>>,
  ) => defineMethod({ name: name(method), params: [], result, description, handle: run })

  const ip = dialect.unlessNothing(IP, isNothing, 'invalid request')
  const subnet = dialect.unlessNothing(SUBNET, isNoSubnet, 'invalid request')
  const address = dialect.unlessNothing(
    ADDRESS,
    isNothing,
    'bad peer address: failed to parse multiaddr "": empty multiaddr',
  )

  return [
    list('self', result('object: peer record', dialect.peerSchema), 'The record of this node', async () =>
      dialect.peer(await p2p.self()),
    ),
    defineMethod({
      name: name('peers'),
      params: [booleanParam('connected')],
      result: result(
        'object: totalConnected, peers, bannedPeers, bannedIPS, bannedSubnets',
        schemas.peerDump(dialect.subnetSchema, dialect.peerSchema),
      ),
      description: 'Peers with addresses, protocols and scores; true: only connected ones',
      handle: async ([connectedOnly]) => dumpToJson(await p2p.peers(connectedOnly), dialect),
    }),
    list(
      'peerStats',
      result('object: integers', dialect.statsSchema),
      'Numbers of known, connected and banned peers, and of peers on each topic',
      async () => dialect.stats(await p2p.peerStats()),
    ),
    list('discoveryTable', result('array of ENR strings', z.array(z.string())), 'Records in the discovery table', () =>
      p2p.discoveryTable(),
    ),
    action('blockPeer', PEER_ID, 'Refuse a peer and close its connections. An error for the node itself', (id) =>
      p2p.blockPeer(id),
    ),
    action('unblockPeer', PEER_ID, 'Remove a peer from the block list and lift its ban', (id) => p2p.unblockPeer(id)),
    list('listBlockedPeers', result('array of peer ids', z.array(z.string())), 'Peers on the block list', () =>
      p2p.listBlockedPeers(),
    ),
    action('blockAddr', ip, 'Refuse an IP address and close its connections', (ip) => p2p.blockAddr(ip)),
    action('unblockAddr', ip, 'Remove an IP address from the block list', (ip) => p2p.unblockAddr(ip)),
    list(
      'listBlockedAddrs',
      result('array of IP addresses', z.array(z.string())),
      'IP addresses on the block list',
      () => p2p.listBlockedAddrs(),
    ),
    action('blockSubnet', subnet, 'Refuse a subnet and close its connections', (cidr) => p2p.blockSubnet(cidr)),
    action('unblockSubnet', subnet, 'Remove a subnet from the block list', (cidr) => p2p.unblockSubnet(cidr)),
    list(
      'listBlockedSubnets',
      result('array of subnets', z.array(dialect.subnetSchema)),
      'Subnets on the block list',
      async () => (await p2p.listBlockedSubnets()).map(dialect.subnet),
    ),
    action('protectPeer', PEER_ID, 'Protect a peer from connection trimming', (id) => p2p.protectPeer(id)),
    action('unprotectPeer', PEER_ID, 'End the protection from connection trimming', (id) => p2p.unprotectPeer(id)),
    action('connectPeer', address, 'Dial a peer and wait until it is identified', (address) =>
      p2p.connectPeer(address),
    ),
    action(
      'disconnectPeer',
      PEER_ID,
      'Close the connections of a peer and delete its record. Removes it from the block list and lifts its ban',
      (id) => p2p.disconnectPeer(id),
    ),
  ]
}

function dumpToJson<S extends z.ZodType, P extends z.ZodType>(
  dump: PeerDump,
  dialect: Pick<Dialect<string, S, P, z.ZodType>, 'bannedPeers' | 'subnet' | 'peer'>,
) {
  const bannedSubnets = dump.bannedSubnets.map(dialect.subnet)
  const peers = Object.fromEntries(Object.entries(dump.peers).map(([id, record]) => [id, dialect.peer(record)]))
  const { totalConnected, bannedIPS } = dump
  return { totalConnected, peers, bannedPeers: dialect.bannedPeers(dump), bannedIPS, bannedSubnets }
}
