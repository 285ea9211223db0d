import { MAX_DELAY_MS } from '../../lib/clock.ts'
import { describeError, UsageError } from '../../lib/errors.ts'
import {
  type BlockScoring,
  checkTides,
  DEFAULT_P2P_OPTIONS,
  type P2pOptions,
  parsePrivateKeyHex,
  type ScoringLevel,
} from '../../p2p/index.ts'
import { type FlagRow, type FlagValues, flag, flagGroup, ignoredFlags, parseList } from '../shared/flags.ts'
import { remoteSignerFromFlags, signerFlags } from '../shared/signerFlags.ts'

/** As in op-node, port 0 lets the system choose, and the system's own ports are refused. */
function parsePeerPort(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(port)) throw new UsageError(`expected a port number, got "${text}"`)
  if (port > 65_535) throw new UsageError(`port out of range: ${text}`)
  if (port !== 0 && port < 1024) throw new UsageError(`port is reserved for system: ${text}`)
  return port
}

function port(defaultPort: number, description: string, details: { env?: string } = {}): FlagRow<number> {
  return { ...flag.port(defaultPort, description, details), parse: parsePeerPort }
}

function parseScoring(text: string): ScoringLevel | undefined {
  if (text === 'light' || text === 'none') return text
  if (text === '') return undefined
  throw new UsageError(`unknown p2p scoring level: ${text}`)
}

function parseBlockScoring(text: string): BlockScoring {
  if (text === 'current' || text === 'none' || text === 'op-node-2024') return text
  throw new UsageError(`expected current, none or op-node-2024, got "${text}"`)
}

function scoring(
  defaultLevel: ScoringLevel | undefined,
  description: string,
  details: Pick<FlagRow<ScoringLevel>, 'env' | 'hidden' | 'deprecatedFor'>,
): FlagRow<ScoringLevel | undefined> {
  return flag.custom('<level>', parseScoring, defaultLevel, description, details)
}

const DEPRECATED_SCORING = { hidden: true, deprecatedFor: 'p2p.scoring' }

/** A hidden list of known names. */
function names<T extends string>(what: string, known: readonly T[], defaults: T[], description: string): FlagRow<T[]> {
  const parse = (text: string): T[] =>
    parseList(text.toLowerCase()).map((name) => {
      const found = known.find((candidate) => candidate === name)
      if (found === undefined) throw new UsageError(`could not recognize ${what} ${name}`)
      return found
    })
  return flag.custom('<a,b,…>', parse, defaults, description, { hidden: true })
}

const meshSize = (variable: string, size: number, description: string): FlagRow<number> =>
  flag.integer(size, description, { min: 1, max: 1000, env: `P2P_GOSSIP_MESH_${variable}`, hidden: true })

const peerFlags = flagGroup('Peer-to-peer', {
  'p2p.disable': flag.boolean('Run without peers'),
  'p2p.no-discovery': flag.boolean('Do not search for peers'),
  'p2p.scoring': scoring('light', 'How peers are scored (light, none)', { env: 'P2P_PEER_SCORING' }),
  'p2p.scoring.peers': scoring(undefined, 'Deprecated: use p2p.scoring', DEPRECATED_SCORING),
  'p2p.scoring.topics': scoring(undefined, 'Deprecated: use p2p.scoring', DEPRECATED_SCORING),
  'p2p.score.bands': flag.optional('<text>', 'Deprecated, has no effect', { ignored: true }),
  'p2p.score.blocks': flag.custom<BlockScoring>(
    '<which>',
    parseBlockScoring,
    'current',
    'Topics whose blocks count for scores: the topic of the active fork, none, or the oldest topic (current, none, op-node-2024)',
  ),
  'p2p.score.ip-exempt': flag.list(
    'Subnets (CIDR) whose peers may share an IP address at no cost in score, in addition to loopback',
  ),
  'p2p.ban.peers': flag.boolean('Ban peers with a low score', {
    env: 'P2P_PEER_BANNING',
    default: true,
  }),
  'p2p.ban.threshold': flag.number(-100, 'Score below which a peer is banned', {
    env: 'P2P_PEER_BANNING_THRESHOLD',
  }),
  'p2p.ban.duration': flag.durationMs(3_600_000, 'Duration of a ban', {
    env: 'P2P_PEER_BANNING_DURATION',
  }),
  'p2p.priv.path': flag.string(
    '<file>',
    'opnode_p2p_priv.txt',
    'File with the hex-encoded secp256k1 key of the peer id; created if missing',
  ),
  // `p2pOptionsFromFlags` parses keys, because an error of the flag's parser would quote the key.
  'p2p.priv.raw': flag.optional('<hex>', 'Hex-encoded key of the peer id; takes precedence over the file', {
    hidden: true,
  }),
  'p2p.listen.ip': flag.string('<ip>', '0.0.0.0', 'IP to listen on for peers; :: = IPv6 and IPv4'),
  'p2p.listen.tcp': port(9222, 'TCP port to listen on for peers; 0 = any', { env: 'P2P_LISTEN_TCP_PORT' }),
  'p2p.listen.udp': port(0, 'UDP port of discovery; 0 = any', { env: 'P2P_LISTEN_UDP_PORT' }),
  'p2p.advertise.ip': flag.optional('<ip|host>', 'IP or host name at which peers reach this node'),
  'p2p.advertise.tcp': port(0, 'TCP port at which peers reach this node; 0 = as --p2p.listen.tcp'),
  'p2p.advertise.udp': port(0, 'UDP port at which peers reach discovery; 0 = as --p2p.listen.udp'),
  'p2p.bootnodes': {
    ...flag.list('Bootnodes of discovery (enr: or enode:)'),
    // Absent: the well-known bootnodes. Empty: no bootnodes.
    default: undefined,
  } satisfies FlagRow<string[] | undefined>,
  'p2p.static': flag.list(
    'Multiaddresses, with /p2p/, of peers to stay connected to; name=<address> gives a peer a name',
  ),
  'p2p.names': flag.list('Names of peers (name=<peer id>), shown in place of their ids'),
  'p2p.allow': flag.list('Only these peer ids, IPs and subnets (CIDR) may connect, in addition to static peers'),
  'p2p.netrestrict': flag.list('Subnets (CIDR) to which discovery is limited'),
  'p2p.mux': names(
    'mux',
    ['yamux', 'mplex'],
    ['yamux', 'mplex'],
    'Stream multiplexers in order of preference (yamux, mplex)',
  ),
  'p2p.security': names('security', ['noise', 'tls', 'none'], ['noise'], 'Transport security (noise, tls, none)'),
  'p2p.peers.lo': flag.integer(20, 'Number of peers below which discovery dials more'),
  'p2p.peers.hi': flag.integer(30, 'Number of peers above which connections are trimmed'),
  'p2p.peers.grace': flag.durationMs(30_000, 'Time for which a new peer is protected from trimming'),
  'p2p.nat': flag.boolean('Map the ports on the NAT router (UPnP, NAT-PMP)'),
  'p2p.useragent': flag.string('<text>', 'optimism', 'Name that peers see', {
    env: 'P2P_AGENT',
    hidden: true,
  }),
  'p2p.timeout.negotiation': flag.durationMs(10_000, 'Not applied, as in op-node', {
    hidden: true,
  }),
  'p2p.timeout.accept': flag.durationMs(10_000, 'Not applied, as in op-node', {
    hidden: true,
  }),
  'p2p.timeout.dial': flag.durationMs(10_000, 'Timeout of a dial', { hidden: true }),
  'p2p.peerstore.path': flag.string(
    '<folder>',
    'opnode_peerstore_db',
    'Directory of the peer store, or "memory". Block lists are stored beside it',
  ),
  'p2p.discovery.path': flag.string('<folder>', 'opnode_discovery_db', 'Directory of the discovery store, or "memory"'),
  'p2p.sequencer.key': flag.optional('<hex>', 'Hex-encoded key that signs the blocks of this sequencer'),
  'p2p.gossip.mesh.d': meshSize('D', 8, 'Target number of peers in a gossip mesh'),
  'p2p.gossip.mesh.lo': meshSize('DLO', 6, 'Number of mesh peers below which more are grafted'),
  'p2p.gossip.mesh.dhi': meshSize('DHI', 12, 'Number of mesh peers above which some are pruned'),
  'p2p.gossip.mesh.dlazy': meshSize('DLAZY', 6, 'Number of peers to which each heartbeat announces messages'),
  'p2p.gossip.mesh.floodpublish': flag.boolean('Publish to all peers', {
    env: 'P2P_GOSSIP_FLOOD_PUBLISH',
    hidden: true,
  }),
  'p2p.gossip.timestamp.threshold': flag.durationMs(
    60_000,
    'Maximum age of a gossiped block; older blocks are rejected',
  ),
  'p2p.sync.onlyreqtostatic': flag.boolean('Request missing blocks from static peers only'),
  'p2p.ping': flag.boolean('Measure the latency of peers', { default: true, hidden: true }),
})

/** Every `--p2p.*` flag of op-node with its name, variable and default, and some flags of this project. */
export const p2pFlags = { ...peerFlags, ...ignoredFlags('op-node', ['p2p.sync.req-resp']), ...signerFlags }

/** Undefined when p2p is disabled. Throws UsageError for contradicting flags. */
export function p2pOptionsFromFlags(values: FlagValues<typeof p2pFlags>): P2pOptions | undefined {
  if (values.p2pDisable) return undefined
  const { p2pPeersLo: low, p2pPeersHi: high } = values
  checkTides(low, high)
  const security = values.p2pSecurity
  const remoteSigner = remoteSignerFromFlags(values)
  if (security.includes('none') && security.length > 1) {
    throw new UsageError('--p2p.security: cannot mix secure transport protocols with no-security')
  }
  return {
    ...(values.p2pPrivRaw === undefined ? {} : { privateKey: readKey('p2p.priv.raw', values.p2pPrivRaw) }),
    privateKeyPath: values.p2pPrivPath,
    listenIp: values.p2pListenIp,
    listenTcpPort: values.p2pListenTcp,
    ...(values.p2pAdvertiseIp === undefined ? {} : { advertiseIp: values.p2pAdvertiseIp }),
    advertiseTcpPort: values.p2pAdvertiseTcp,
    staticPeers: values.p2pStatic,
    peerNames: values.p2pNames,
    allow: values.p2pAllow,
    peerStorePath: values.p2pPeerstorePath,
    muxers: values.p2pMux,
    security,
    userAgent: values.p2pUseragent === '' ? DEFAULT_P2P_OPTIONS.userAgent : values.p2pUseragent,
    peersLow: low,
    peersHigh: high,
    peersGraceMs: values.p2pPeersGrace,
    dialTimeoutMs: timerMs(values.p2pTimeoutDial === 0 ? DEFAULT_P2P_OPTIONS.dialTimeoutMs : values.p2pTimeoutDial),
    liveness: DEFAULT_P2P_OPTIONS.liveness,
    nat: values.p2pNat,
    ping: values.p2pPing,
    ...(values.p2pSequencerKey === undefined
      ? {}
      : { sequencerKey: readKey('p2p.sequencer.key', values.p2pSequencerKey) }),
    ...(remoteSigner === undefined ? {} : { remoteSigner }),
    gossip: {
      meshD: values.p2pGossipMeshD,
      meshLow: values.p2pGossipMeshLo,
      meshHigh: values.p2pGossipMeshDhi,
      meshLazy: values.p2pGossipMeshDlazy,
      floodPublish: values.p2pGossipMeshFloodpublish,
      maxAgeS: Math.floor(values.p2pGossipTimestampThreshold / 1000),
    },
    // As in op-node, the old flags apply only if the new flag is empty.
    scoring: values.p2pScoring ?? values.p2pScoringPeers ?? values.p2pScoringTopics ?? 'light',
    scoreBlocks: values.p2pScoreBlocks,
    ban: {
      enabled: values.p2pBanPeers,
      threshold: values.p2pBanThreshold,
      durationMs: values.p2pBanDuration,
    },
    ipColocationExempt: [...DEFAULT_P2P_OPTIONS.ipColocationExempt, ...values.p2pScoreIpExempt],
    ...(values.p2pNoDiscovery
      ? {}
      : {
          discovery: {
            listenUdpPort: values.p2pListenUdp,
            advertiseUdpPort: values.p2pAdvertiseUdp,
            bootnodes: values.p2pBootnodes,
            path: values.p2pDiscoveryPath,
            netrestrict: values.p2pNetrestrict,
          },
        }),
    sync: { enabled: true, onlyStatic: values.p2pSyncOnlyreqtostatic },
  }
}

/** libp2p's timers take at most 24 days. */
function timerMs(durationMs: number): number {
  return Math.min(durationMs, MAX_DELAY_MS)
}

function readKey(name: string, text: string): Uint8Array {
  try {
    return parsePrivateKeyHex(text)
  } catch (error) {
    throw new UsageError(`--${name}: ${describeError(error)}`)
  }
}
