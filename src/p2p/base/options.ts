import type { RemoteSignerOptions } from '../../jsonRpc/remoteSigner.ts'
import { UsageError } from '../../lib/errors.ts'
import type { Hex } from '../../lib/hex.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'

/** The chain as the p2p node sees it. The p2p node knows neither L1 nor the engine. */
export interface P2pChain {
  readonly config: RollupConfig
  /** The address that signs unsafe blocks, from L1's SystemConfig; undefined until known. Called for every message. */
  signerAddress(): Hex | undefined
  /** A canonical block to serve to peers; undefined when this node does not have it. */
  payloadByNumber(number: number): Promise<PayloadEnvelope | undefined>
}

export type Muxer = 'yamux' | 'mplex'
/** `none` is plaintext, for debugging only. */
export type Security = 'noise' | 'tls' | 'none'
export type ScoringLevel = 'light' | 'none'

export interface LivenessOptions {
  /** After this long without data, probe the peer. With many connections the time is longer. */
  silentMs: number
  /** After this long without an answer to the probe, dial a second connection beside the silent one. */
  answerMs: number
  /** After this long without data, close the connection. */
  closeMs: number
}

export interface HealthLimits {
  /** Gossip counts as silent after this long without a block. */
  silentMs: number
  /** During this time after the start, a missing block is no trouble. */
  graceMs: number
}

/** Timing of the health monitor. */
export interface MonitorLimits extends HealthLimits {
  confirmMs: number
  /** Time between two assessments. */
  intervalMs: number
}

/** Selects the topics that are scored, and the score parameters. */
export type BlockScoring = 'current' | 'none' | 'op-node-2024'

/** Plain data. `p2pOptionsFromFlags` builds it from flags; `DEFAULT_P2P_OPTIONS` holds op-node's defaults. */
export interface P2pOptions {
  /** 32 bytes; takes precedence over `privateKeyPath`. */
  privateKey?: Uint8Array
  /** A missing file is created with a new key. */
  privateKeyPath?: string
  listenIp: string
  /** 0: the system chooses a port. */
  listenTcpPort: number
  /** IP or host name under which other nodes reach this node. */
  advertiseIp?: string
  /** 0: the port of the listener. */
  advertiseTcpPort: number
  /**
   * Multiaddresses with `/p2p/<id>`, optionally as `name=<multiaddress>`. Always connected, protected, never banned for
   * their score.
   */
  staticPeers: string[]
  /** `name=<peer id>`: the operator's names of peers. */
  peerNames: string[]
  /** Peer ids, IPs and CIDR ranges. Only these and static peers may connect or be dialled; empty: every peer. */
  allow: string[]
  /** LevelDB folder, or `memory`. The block lists are beside it in `<path>.access.json`. */
  peerStorePath: string
  muxers: Muxer[]
  security: Security[]
  userAgent: string
  /**
   * Above `peersHigh` connections, the node closes unprotected ones older than the grace time until `peersLow` are
   * left.
   */
  peersLow: number
  peersHigh: number
  peersGraceMs: number
  dialTimeoutMs: number
  /** Decides when a connection counts as dead: that of a static peer, or any connection while there are few. */
  liveness: LivenessOptions
  /** Timing of the health monitor. Missing members are derived from the block time. */
  health?: Partial<MonitorLimits>
  /** Maps ports by UPnP or NAT-PMP. */
  nat: boolean
  /** Measures latencies every 3 minutes. */
  ping: boolean
  /** 32 bytes: signs the blocks of this node's sequencer. */
  sequencerKey?: Uint8Array
  /** Signs the blocks instead of `sequencerKey`. */
  remoteSigner?: RemoteSignerOptions
  gossip: {
    meshD: number
    meshLow: number
    meshHigh: number
    meshLazy: number
    /** Publish to every peer. This also happens while the mesh is below `meshLow`. */
    floodPublish: boolean
    /** Largest accepted age of a block, in seconds. */
    maxAgeS: number
    /** From this many compressed bytes on, send IDONTWANT to peers; undefined: op-node's 1 KiB. */
    idontwantMinBytes?: number
  }
  scoring: ScoringLevel
  /**
   * `current`: score the topic that carries the chain's blocks now, by devium's parameters. `none`: score no topic, as
   * op-node does since 2025. `op-node-2024`: score the pre-Canyon topic, which is silent. After 48 s every peer loses
   * its place in the mesh.
   */
  scoreBlocks: BlockScoring
  ban: { enabled: boolean; threshold: number; durationMs: number }
  /** CIDR ranges whose peers are not punished for sharing an IP. */
  ipColocationExempt: string[]
  /** Peer discovery by discv5; undefined: off. */
  discovery?: DiscoveryOptions | undefined
  sync: {
    /** Serve and request blocks by number. */
    enabled: boolean
    /** Send requests to static peers only. */
    onlyStatic: boolean
  }
}

export interface DiscoveryOptions {
  /** 0: the system chooses a port. */
  listenUdpPort: number
  /** 0: the port of the listener. */
  advertiseUdpPort: number
  /** `enr:…` or `enode://…`. Undefined: not chosen, so the program uses the bootnodes of a known network. */
  bootnodes: string[] | undefined
  /** Folder of the known nodes, or `memory`. */
  path: string
  /** CIDR ranges that limit discovery; empty: no limit. */
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
 * op-node's defaults without discovery. Loopback is exempt from IP colocation, because a testnet on one machine has all
 * peers on one address.
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

/** op-node's check of the low and high peer limits. Throws UsageError. */
export function checkTides(low: number, high: number): void {
  if (low > 0 && high > 0 && low <= high) return
  throw new UsageError(`--p2p.peers.lo, --p2p.peers.hi: peers lo/hi tides are invalid: ${low}, ${high}`)
}
