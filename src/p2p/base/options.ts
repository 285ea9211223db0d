import type { RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'

/** The chain as the p2p node asks for it: it knows neither L1 nor the engine. */
export interface P2pChain {
  readonly config: RollupConfig
  /** Who signs unsafe blocks, from L1's SystemConfig; undefined until known. Asked for every message. */
  signerAddress(): Hex | undefined
  /** A canonical block for peers that ask; undefined when this node does not have it. */
  payloadByNumber(number: number): Promise<PayloadEnvelope | undefined>
}

export type Muxer = 'yamux' | 'mplex'
/** `none` is plaintext, for debugging only. */
export type Security = 'noise' | 'tls' | 'none'
export type ScoringLevel = 'light' | 'none'

export interface LivenessOptions {
  /** Nothing came for this long, or longer with many connections: the peer is asked for a sign of life. */
  silentMs: number
  /** It has not answered for this long: another connection is tried beside the silent one. */
  answerMs: number
  /** Silent for this long: closed. */
  closeMs: number
}

export interface HealthLimits {
  /** Without a block for this long gossip counts as silent. */
  silentMs: number
  /** So long after the start nothing is missed yet. */
  graceMs: number
}

/** How soon the monitor speaks up. */
export interface MonitorLimits extends HealthLimits {
  confirmMs: number
  /** Between two judgements. */
  intervalMs: number
}

/** Which topics are scored, and how. */
export type BlockScoring = 'current' | 'none' | 'op-node-2024'

/** Everything is plain data; `p2pOptionsFromFlags` makes it of flags, `DEFAULT_P2P_OPTIONS` has op-node's defaults. */
export interface P2pOptions {
  /** 32 bytes; wins over `privateKeyPath`. */
  privateKey?: Uint8Array
  /** Created with a new key when missing. */
  privateKeyPath?: string
  listenIp: string
  /** 0 lets the system choose. */
  listenTcpPort: number
  /** IP or host name that others reach this node at. */
  advertiseIp?: string
  /** 0: the port listened on. */
  advertiseTcpPort: number
  /** Multiaddresses with `/p2p/<id>`, or `name=` and one: always connected, protected, never banned for their score. */
  staticPeers: string[]
  /** `name=<peer id>`: what the operator calls peers. */
  peerNames: string[]
  /** Peer ids, IPs and CIDR ranges: only they and static peers may connect, in and out; empty: everybody. */
  allow: string[]
  /** LevelDB folder, or `memory`. Block lists stand beside it in `<path>.access.json`. */
  peerStorePath: string
  muxers: Muxer[]
  security: Security[]
  userAgent: string
  /** Above `peersHigh` connections, unprotected ones older than the grace time are closed down to `peersLow`. */
  peersLow: number
  peersHigh: number
  peersGraceMs: number
  dialTimeoutMs: number
  /** When the connection of a static peer, or any while there are few, counts as dead. */
  liveness: LivenessOptions
  /** How soon the node says that gossip brings no blocks; what is not given follows from the block time. */
  health?: Partial<MonitorLimits>
  /** Maps ports by UPnP or NAT-PMP. */
  nat: boolean
  /** Measures latencies every 3 minutes. */
  ping: boolean
  /** 32 bytes: signs the blocks of this node's sequencer. */
  sequencerKey?: Uint8Array
  /** Signs them instead. */
  remoteSigner?: RemoteSignerOptions
  gossip: {
    meshD: number
    meshLow: number
    meshHigh: number
    meshLazy: number
    /** Publish to every peer. Done anyway while the mesh is below `meshLow`. */
    floodPublish: boolean
    /** Oldest block accepted, in seconds before now. */
    maxAgeS: number
    /** Compressed bytes from which on peers are told that they need not send a message; undefined: as op-node, 1 KiB. */
    idontwantMinBytes?: number
  }
  scoring: ScoringLevel
  /**
   * `current`: the topic that carries the chain's blocks now, by our rules. `none`: no topic, as op-node since 2025.
   * `op-node-2024`: the pre-Canyon topic, which is silent: after 48 s every peer loses its place in the mesh.
   */
  scoreBlocks: BlockScoring
  ban: { enabled: boolean; threshold: number; durationMs: number }
  /** CIDR ranges whose peers are not punished for sharing an IP. */
  ipColocationExempt: string[]
  /** Looking for peers by discv5; undefined: off. */
  discovery?: DiscoveryOptions | undefined
  sync: {
    /** Serve and ask for blocks by number. */
    enabled: boolean
    /** Ask static peers only. */
    onlyStatic: boolean
  }
}

export interface DiscoveryOptions {
  /** 0 lets the system choose. */
  listenUdpPort: number
  /** 0: the port listened on. */
  advertiseUdpPort: number
  /** `enr:…` or `enode://…`; undefined, what nobody chose: none, unless the program knows those of the network. */
  bootnodes: string[] | undefined
  /** Folder of the known nodes, or `memory`. */
  path: string
  /** CIDR ranges that discovery is limited to; empty: no limit. */
  netrestrict: string[]
}

/** op-node's defaults. */
export const DEFAULT_DISCOVERY_OPTIONS: DiscoveryOptions = {
  listenUdpPort: 0,
  advertiseUdpPort: 0,
  bootnodes: undefined,
  path: 'opnode_discovery_db',
  netrestrict: [],
}

/**
 * op-node's defaults without discovery, and loopback exempt from IP colocation: a testnet on one machine has all peers
 * on one address.
 */
export const DEFAULT_P2P_OPTIONS: P2pOptions = {
  privateKeyPath: 'opnode_p2p_priv.txt',
  listenIp: '0.0.0.0',
  listenTcpPort: 9222,
  advertiseTcpPort: 0,
  staticPeers: [],
  peerNames: [],
  allow: [],
  peerStorePath: 'opnode_peerstore_db',
  muxers: ['yamux', 'mplex'],
  security: ['noise'],
  userAgent: 'optimism',
  peersLow: 20,
  peersHigh: 30,
  peersGraceMs: 30_000,
  dialTimeoutMs: 10_000,
  liveness: { silentMs: 2_000, answerMs: 1_000, closeMs: 8_000 },
  nat: false,
  ping: true,
  gossip: { meshD: 8, meshLow: 6, meshHigh: 12, meshLazy: 6, floodPublish: false, maxAgeS: 60 },
  scoring: 'light',
  scoreBlocks: 'current',
  ban: { enabled: true, threshold: -100, durationMs: 3_600_000 },
  ipColocationExempt: ['127.0.0.0/8', '::1/128'],
  sync: { enabled: true, onlyStatic: false },
}

/** op-node's rule for the low and high marks of peers. Throws UsageError. */
export function checkTides(low: number, high: number): void {
  if (low > 0 && high > 0 && low <= high) return
  throw new UsageError(`--p2p.peers.lo, --p2p.peers.hi: peers lo/hi tides are invalid: ${low}, ${high}`)
}
