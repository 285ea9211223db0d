import { describeError, UsageError } from '../../lib/errors.ts'
import {
  type BlockScoring,
  checkTides,
  DEFAULT_P2P_OPTIONS,
  type Muxer,
  type P2pOptions,
  parsePrivateKeyHex,
  type ScoringLevel,
  type Security,
} from '../../p2p/index.ts'
import { type FlagSpec, type FlagTable, type FlagValues, flag, ignoredFlag, parseList } from '../shared/flags.ts'
import { remoteSignerFromFlags, signerFlags } from '../shared/signerFlags.ts'

const GROUP = 'Peer-to-peer'

/** As in op-node, port 0 lets the system choose, and the system's own ports are refused. */
function parsePeerPort(text: string): number {
  const port = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (!Number.isSafeInteger(port)) throw new UsageError(`expected a port number, got "${text}"`)
  if (port > 65_535) throw new UsageError(`port out of range: ${text}`)
  if (port !== 0 && port < 1024) throw new UsageError(`port is reserved for system: ${text}`)
  return port
}

function port(name: string, defaultPort: number, description: string, env?: string): FlagSpec<number> {
  const details = env === undefined ? {} : { env }
  return { ...flag.port(GROUP, name, defaultPort, description, details), parse: parsePeerPort }
}

/** A private key in hex. `p2pOptionsFromFlags` parses it, because an error of the flag's parser would quote the key. */
function secretKey(name: string, description: string, hidden: boolean): FlagSpec<string | undefined> {
  return flag.optional(GROUP, name, description, { placeholder: '<hex>', hidden })
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
  name: string,
  defaultLevel: ScoringLevel | undefined,
  description: string,
  details: Pick<FlagSpec<ScoringLevel>, 'env' | 'hidden' | 'deprecatedFor'>,
): FlagSpec<ScoringLevel | undefined> {
  return {
    group: GROUP,
    name,
    description,
    default: defaultLevel,
    placeholder: '<level>',
    parse: parseScoring,
    ...details,
  }
}

const DEPRECATED_SCORING = { hidden: true, deprecatedFor: 'p2p.scoring' }

const MUXERS: readonly Muxer[] = ['yamux', 'mplex']
const SECURITIES: readonly Security[] = ['noise', 'tls', 'none']

function parseNames<T extends string>(what: string, known: readonly T[], text: string): T[] {
  return parseList(text.toLowerCase()).map((name) => {
    const found = known.find((candidate) => candidate === name)
    if (found === undefined) throw new UsageError(`could not recognize ${what} ${name}`)
    return found
  })
}

const meshSize = (name: string, env: string, size: number, description: string): FlagSpec<number> =>
  flag.integer(GROUP, `p2p.gossip.mesh.${name}`, size, description, { min: 1, max: 1000 }, { env, hidden: true })

/** Every `--p2p.*` flag of op-node with its name, variable and default, and some flags of this project. */
export const p2pFlags = {
  p2pDisable: flag.boolean(GROUP, 'p2p.disable', 'Run without peers'),
  p2pNoDiscovery: flag.boolean(GROUP, 'p2p.no-discovery', 'Do not search for peers'),
  p2pScoring: scoring('p2p.scoring', 'light', 'How peers are scored (light, none)', {
    env: 'P2P_PEER_SCORING',
  }),
  p2pScoringPeers: scoring('p2p.scoring.peers', undefined, 'Deprecated: use p2p.scoring', DEPRECATED_SCORING),
  p2pScoringTopics: scoring('p2p.scoring.topics', undefined, 'Deprecated: use p2p.scoring', DEPRECATED_SCORING),
  p2pScoreBands: flag.optional(GROUP, 'p2p.score.bands', 'Deprecated, has no effect', { ignored: true }),
  p2pScoreBlocks: {
    group: GROUP,
    name: 'p2p.score.blocks',
    description:
      'Topics whose blocks count for scores: the topic of the active fork, none, or the oldest topic (current, none, op-node-2024)',
    default: 'current' as BlockScoring,
    placeholder: '<which>',
    parse: parseBlockScoring,
  },
  p2pScoreExempt: flag.list(
    GROUP,
    'p2p.score.ip-exempt',
    'Subnets (CIDR) whose peers may share an IP address at no cost in score, in addition to loopback',
  ),
  p2pBanPeers: flag.boolean(GROUP, 'p2p.ban.peers', 'Ban peers with a low score', {
    env: 'P2P_PEER_BANNING',
    default: true,
  }),
  p2pBanThreshold: flag.number(GROUP, 'p2p.ban.threshold', -100, 'Score below which a peer is banned', {
    env: 'P2P_PEER_BANNING_THRESHOLD',
  }),
  p2pBanDuration: flag.durationMs(GROUP, 'p2p.ban.duration', 3_600_000, 'Duration of a ban', {
    env: 'P2P_PEER_BANNING_DURATION',
  }),
  p2pPrivPath: flag.string(
    GROUP,
    'p2p.priv.path',
    'opnode_p2p_priv.txt',
    'File with the hex-encoded secp256k1 key of the peer id; created if missing',
    { placeholder: '<file>' },
  ),
  p2pPrivRaw: secretKey('p2p.priv.raw', 'Hex-encoded key of the peer id; takes precedence over the file', true),
  p2pListenIp: flag.string(GROUP, 'p2p.listen.ip', '0.0.0.0', 'IP to listen on for peers; :: = IPv6 and IPv4', {
    placeholder: '<ip>',
  }),
  p2pListenTcp: port('p2p.listen.tcp', 9222, 'TCP port to listen on for peers; 0 = any', 'P2P_LISTEN_TCP_PORT'),
  p2pListenUdp: port('p2p.listen.udp', 0, 'UDP port of discovery; 0 = any', 'P2P_LISTEN_UDP_PORT'),
  p2pAdvertiseIp: flag.optional(GROUP, 'p2p.advertise.ip', 'IP or host name at which peers reach this node', {
    placeholder: '<ip|host>',
  }),
  p2pAdvertiseTcp: port('p2p.advertise.tcp', 0, 'TCP port at which peers reach this node; 0 = as --p2p.listen.tcp'),
  p2pAdvertiseUdp: port('p2p.advertise.udp', 0, 'UDP port at which peers reach discovery; 0 = as --p2p.listen.udp'),
  p2pBootnodes: {
    ...flag.list(GROUP, 'p2p.bootnodes', 'Bootnodes of discovery (enr: or enode:)'),
    // Absent: the well-known bootnodes. Empty: no bootnodes.
    default: undefined,
  } satisfies FlagSpec<string[] | undefined>,
  p2pStatic: flag.list(
    GROUP,
    'p2p.static',
    'Multiaddresses, with /p2p/, of peers to stay connected to; name=<address> gives a peer a name',
  ),
  p2pNames: flag.list(GROUP, 'p2p.names', 'Names of peers (name=<peer id>), shown in place of their ids'),
  p2pAllow: flag.list(
    GROUP,
    'p2p.allow',
    'Only these peer ids, IPs and subnets (CIDR) may connect, in addition to static peers',
  ),
  p2pNetrestrict: flag.list(GROUP, 'p2p.netrestrict', 'Subnets (CIDR) to which discovery is limited'),
  p2pMux: {
    group: GROUP,
    name: 'p2p.mux',
    description: 'Stream multiplexers in order of preference (yamux, mplex)',
    default: ['yamux', 'mplex'] as Muxer[],
    placeholder: '<a,b,…>',
    hidden: true,
    parse: (text: string) => parseNames('mux', MUXERS, text),
  },
  p2pSecurity: {
    group: GROUP,
    name: 'p2p.security',
    description: 'Transport security (noise, tls, none)',
    default: ['noise'] as Security[],
    placeholder: '<a,b,…>',
    hidden: true,
    parse: (text: string) => parseNames('security', SECURITIES, text),
  },
  p2pPeersLo: flag.integer(GROUP, 'p2p.peers.lo', 20, 'Number of peers below which discovery dials more'),
  p2pPeersHi: flag.integer(GROUP, 'p2p.peers.hi', 30, 'Number of peers above which connections are trimmed'),
  p2pPeersGrace: flag.durationMs(
    GROUP,
    'p2p.peers.grace',
    30_000,
    'Time for which a new peer is protected from trimming',
  ),
  p2pNat: flag.boolean(GROUP, 'p2p.nat', 'Map the ports on the NAT router (UPnP, NAT-PMP)'),
  p2pUserAgent: flag.string(GROUP, 'p2p.useragent', 'optimism', 'Name that peers see', {
    env: 'P2P_AGENT',
    hidden: true,
  }),
  p2pTimeoutNegotiation: flag.durationMs(GROUP, 'p2p.timeout.negotiation', 10_000, 'Not applied, as in op-node', {
    hidden: true,
  }),
  p2pTimeoutAccept: flag.durationMs(GROUP, 'p2p.timeout.accept', 10_000, 'Not applied, as in op-node', {
    hidden: true,
  }),
  p2pTimeoutDial: flag.durationMs(GROUP, 'p2p.timeout.dial', 10_000, 'Timeout of a dial', { hidden: true }),
  p2pPeerstorePath: flag.string(
    GROUP,
    'p2p.peerstore.path',
    'opnode_peerstore_db',
    'Directory of the peer store, or "memory". Block lists are stored beside it',
    { placeholder: '<folder>' },
  ),
  p2pDiscoveryPath: flag.string(
    GROUP,
    'p2p.discovery.path',
    'opnode_discovery_db',
    'Directory of the discovery store, or "memory"',
    {
      placeholder: '<folder>',
    },
  ),
  p2pSequencerKey: secretKey('p2p.sequencer.key', 'Hex-encoded key that signs the blocks of this sequencer', false),
  p2pMeshD: meshSize('d', 'P2P_GOSSIP_MESH_D', 8, 'Target number of peers in a gossip mesh'),
  p2pMeshLo: meshSize('lo', 'P2P_GOSSIP_MESH_DLO', 6, 'Number of mesh peers below which more are grafted'),
  p2pMeshHi: meshSize('dhi', 'P2P_GOSSIP_MESH_DHI', 12, 'Number of mesh peers above which some are pruned'),
  p2pMeshLazy: meshSize(
    'dlazy',
    'P2P_GOSSIP_MESH_DLAZY',
    6,
    'Number of peers to which each heartbeat announces messages',
  ),
  p2pFloodPublish: flag.boolean(GROUP, 'p2p.gossip.mesh.floodpublish', 'Publish to all peers', {
    env: 'P2P_GOSSIP_FLOOD_PUBLISH',
    hidden: true,
  }),
  p2pTimestampThreshold: flag.durationMs(
    GROUP,
    'p2p.gossip.timestamp.threshold',
    60_000,
    'Maximum age of a gossiped block; older blocks are rejected',
  ),
  p2pSyncReqResp: ignoredFlag('p2p.sync.req-resp'),
  p2pSyncOnlyReqToStatic: flag.boolean(
    GROUP,
    'p2p.sync.onlyreqtostatic',
    'Request missing blocks from static peers only',
  ),
  p2pPing: flag.boolean(GROUP, 'p2p.ping', 'Measure the latency of peers', { default: true, hidden: true }),
  ...signerFlags,
} satisfies FlagTable

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
    ...(isSet(values.p2pPrivRaw) ? { privateKey: readKey('p2p.priv.raw', values.p2pPrivRaw) } : {}),
    privateKeyPath: values.p2pPrivPath,
    listenIp: values.p2pListenIp,
    listenTcpPort: values.p2pListenTcp,
    ...(isSet(values.p2pAdvertiseIp) ? { advertiseIp: values.p2pAdvertiseIp } : {}),
    advertiseTcpPort: values.p2pAdvertiseTcp,
    staticPeers: values.p2pStatic,
    peerNames: values.p2pNames,
    allow: values.p2pAllow,
    peerStorePath: values.p2pPeerstorePath,
    muxers: values.p2pMux,
    security,
    userAgent: values.p2pUserAgent === '' ? DEFAULT_P2P_OPTIONS.userAgent : values.p2pUserAgent,
    peersLow: low,
    peersHigh: high,
    peersGraceMs: values.p2pPeersGrace,
    dialTimeoutMs: timerMs(values.p2pTimeoutDial === 0 ? DEFAULT_P2P_OPTIONS.dialTimeoutMs : values.p2pTimeoutDial),
    liveness: DEFAULT_P2P_OPTIONS.liveness,
    nat: values.p2pNat,
    ping: values.p2pPing,
    ...(isSet(values.p2pSequencerKey) ? { sequencerKey: readKey('p2p.sequencer.key', values.p2pSequencerKey) } : {}),
    ...(remoteSigner === undefined ? {} : { remoteSigner }),
    gossip: {
      meshD: values.p2pMeshD,
      meshLow: values.p2pMeshLo,
      meshHigh: values.p2pMeshHi,
      meshLazy: values.p2pMeshLazy,
      floodPublish: values.p2pFloodPublish,
      maxAgeS: Math.floor(values.p2pTimestampThreshold / 1000),
    },
    // As in op-node, the old flags apply only if the new flag is empty.
    scoring: values.p2pScoring ?? values.p2pScoringPeers ?? values.p2pScoringTopics ?? 'light',
    scoreBlocks: values.p2pScoreBlocks,
    ban: {
      enabled: values.p2pBanPeers,
      threshold: values.p2pBanThreshold,
      durationMs: values.p2pBanDuration,
    },
    ipColocationExempt: [...DEFAULT_P2P_OPTIONS.ipColocationExempt, ...values.p2pScoreExempt],
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
    sync: { enabled: true, onlyStatic: values.p2pSyncOnlyReqToStatic },
  }
}

function isSet(text: string | undefined): text is string {
  return text !== undefined && text !== ''
}

/** libp2p's timers take whole milliseconds, at most 24 days. */
function timerMs(durationMs: number): number {
  return Math.min(Math.ceil(durationMs), 2 ** 31 - 1)
}

function readKey(name: string, text: string): Uint8Array {
  try {
    return parsePrivateKeyHex(text)
  } catch (error) {
    throw new UsageError(`--${name}: ${describeError(error)}`)
  }
}
