import { L1_RPC_KINDS } from '../../l1/index.ts'
import { UsageError } from '../../lib/errors.ts'
import { SYNC_MODES } from '../../rollup/engine/elSync.ts'
import { DEFAULT_MAX_REORG_WINDOWS } from '../../rollup/engine/findStartHeads.ts'
import type { Fork } from '../../rollup/protocol/index.ts'
import { configFlag, type FlagSpec, flag, ignoredFlag } from '../shared/flags.ts'
import { logFlags } from '../shared/program.ts'
import { tokenFlags } from '../shared/tokenFlags.ts'

const L1 = 'L1'
const L2 = 'L2 engine'
const ROLLUP = 'Rollup'
const SEQUENCER = 'Sequencer'
const RPC = 'RPC'
const METRICS = 'Metrics'

/** op-node's flags, as far as this node implements them, with op-node's names, defaults and variables. */
export const rollupNodeFlags = {
  l1: {
    ...flag.list(
      L1,
      'l1',
      "Addresses of L1's JSON-RPC (http or ws), the preferred one first; others are asked where it fails",
      { env: 'L1_ETH_RPC', placeholder: '<url,…>' },
    ),
    default: ['http://127.0.0.1:8545'],
  } satisfies FlagSpec<string[]>,
  l1TrustRpc: flag.boolean(L1, 'l1.trustrpc', 'Take what L1 answers without checking hashes and roots', {
    env: 'L1_TRUST_RPC',
  }),
  l1RpcKind: flag.choice(L1, 'l1.rpckind', L1_RPC_KINDS, 'standard', 'Kind of L1 endpoint: how receipts are fetched', {
    env: 'L1_RPC_KIND',
  }),
  l1MaxConcurrency: flag.integer(L1, 'l1.max-concurrency', 10, 'Requests to L1 under way at once', { min: 1 }),
  l1RpcRateLimit: flag.number(L1, 'l1.rpc-rate-limit', 0, 'Requests to L1 per second; 0 = no limit'),
  l1RpcMaxBatchSize: flag.integer(L1, 'l1.rpc-max-batch-size', 20, 'Requests in one batch', { min: 1, max: 500 }),
  l1CacheSize: flag.integer(
    L1,
    'l1.cache-size',
    900,
    'L1 headers kept in memory; by default more than a sequencing window',
    { min: 1, max: 1_000_000 },
  ),
  l1HttpPollInterval: flag.durationMs(L1, 'l1.http-poll-interval', 12_000, 'Time between looks at the L1 head'),
  l1EpochPollInterval: flag.durationMs(
    L1,
    'l1.epoch-poll-interval',
    384_000,
    'Time between looks at the safe and finalized L1 blocks',
  ),
  l1RuntimeConfigReloadInterval: flag.durationMs(
    L1,
    'l1.runtime-config-reload-interval',
    600_000,
    'Time between reads of the unsafe block signer from L1; 0 = once at the start',
  ),
  l1Beacon: flag.optional(L1, 'l1.beacon', 'Address of the L1 beacon API, which blobs are read from', {
    placeholder: '<url>',
  }),
  l1BeaconHeader: flag.optional(L1, 'l1.beacon-header', 'Header for requests to --l1.beacon, as "Name: value"', {
    placeholder: '<header>',
  }),
  l1BeaconFallbacks: flag.list(
    L1,
    'l1.beacon-fallbacks',
    'Further beacon APIs or archives of blobs, asked where the first one fails or lacks a blob',
    { placeholder: '<url,…>' },
  ),
  l1BeaconArchiver: flag.list(L1, 'l1.beacon-archiver', 'The same by its older name', {
    placeholder: '<url,…>',
    hidden: true,
  }),
  l1BeaconIgnore: flag.boolean(
    L1,
    'l1.beacon.ignore',
    'Start although there is no beacon API, or none that answers: no batch may be in a blob then',
  ),
  l1BeaconSlotDurationOverride: flag.integer(
    L1,
    'l1.beacon.slot-duration-override',
    0,
    'Seconds of a slot of the beacon chain, instead of what it says itself; 0 = what it says',
  ),
  verifierL1Confs: flag.integer(L1, 'verifier.l1-confs', 0, 'L1 blocks on top before derivation reads a block'),

  l2: flag.optional(L2, 'l2', 'Address of the Engine API (authenticated)', {
    env: 'L2_ENGINE_RPC',
    placeholder: '<url>',
  }),
  l2JwtSecret: flag.optional(L2, 'l2.jwt-secret', 'File with the secret shared with the engine: 32 bytes of hex', {
    env: 'L2_ENGINE_AUTH',
    placeholder: '<file>',
  }),
  l2EngineKind: flag.choice(L2, 'l2.enginekind', ['geth', 'reth', 'erigon'], 'reth', 'Kind of execution client', {
    env: 'L2_ENGINE_KIND',
  }),
  l2EngineRpcTimeout: flag.durationMs(L2, 'l2.engine-rpc-timeout', 10_000, 'Time that a call of the engine may take'),
  l2SkipSyncStartCheck: flag.boolean(
    L2,
    'l2.skip-sync-start-check',
    'At the start, believe the blocks between the safe head and the first one whose L1 origin is canonical',
  ),
  l2FollowSource: flag.optional(
    ROLLUP,
    'l2.follow.source',
    'Derive nothing, and take safe and finalized head over from the rollup node with this RPC address',
    { placeholder: '<url>' },
  ),
  l2FollowSourceRpcTimeout: flag.durationMs(
    ROLLUP,
    'l2.follow.source.rpc-timeout',
    10_000,
    'Time that the followed node may take to answer',
  ),
  syncMode: flag.choice(
    ROLLUP,
    'syncmode',
    SYNC_MODES,
    'consensus-layer',
    'Who catches up: this node by L1 and its peers, or first the engine by its own network',
  ),
  syncModeReqResp: flag.boolean(
    ROLLUP,
    'syncmode.req-resp',
    'Ask peers for missing unsafe blocks; off: the engine closes gaps by its own network',
    { default: true },
  ),
  syncModeOffsetElSafe: flag.durationMs(
    ROLLUP,
    'syncmode.offset-el-safe',
    43_200_000,
    'After a sync of the engine: time that safe and finalized head are left behind its tip',
  ),

  network: flag.optional(ROLLUP, 'network', 'Network of the built-in registry', { placeholder: '<name>' }),
  rollupConfig: flag.optional(ROLLUP, 'rollup.config', 'File with the rollup config', { placeholder: '<file>' }),
  l1ChainConfig: flag.optional(
    ROLLUP,
    'rollup.l1-chain-config',
    "File with L1's chain config or genesis: blob fee parameters of an L1 that is no public network",
    { placeholder: '<file>' },
  ),
  dependencySet: flag.optional(
    ROLLUP,
    'interop.dependency-set',
    'File with the chains whose messages this chain takes; needed where Lagoon is scheduled',
    { placeholder: '<file>' },
  ),
  upgradeBundles: flag.list(
    ROLLUP,
    'rollup.upgrade-bundle',
    "File with a fork's published upgrade transactions; needed at the activation block of Lagoon",
    { placeholder: '<file>' },
  ),
  rollupMaxReorgWindows: flag.integer(
    ROLLUP,
    'rollup.max-reorg-windows',
    DEFAULT_MAX_REORG_WINDOWS,
    'Sequencing windows that an L1 reorg may reach back; the node waits for you at a deeper one',
    { min: 1 },
  ),
  overrideCanyon: overrideFlag('canyon'),
  overrideDelta: overrideFlag('delta'),
  overrideEcotone: overrideFlag('ecotone'),
  overrideFjord: overrideFlag('fjord'),
  overrideGranite: overrideFlag('granite'),
  overrideHolocene: overrideFlag('holocene'),
  overrideIsthmus: overrideFlag('isthmus'),
  overrideJovian: overrideFlag('jovian'),
  overrideKarst: overrideFlag('karst'),
  overrideLagoon: overrideFlag('lagoon'),
  overrideKeepKarstUpgradeGas: keepKarstUpgradeGasFlag(),
  overridePectraBlobSchedule: timeFlag('pectrablobschedule', 'L1 time of the Pectra blob schedule fix'),
  ignoreMissingPectraBlobSchedule: flag.boolean(
    ROLLUP,
    'ignore-missing-pectra-blob-schedule',
    'Start although the rollup config of a chain on Sepolia seems to lack pectra_blob_schedule_time',
  ),
  safedbPath: flag.optional(
    ROLLUP,
    'safedb.path',
    'Directory that keeps which L1 block made which L2 block safe (optimism_safeHeadAtL1Block)',
    { placeholder: '<dir>' },
  ),
  fetchWithdrawalRootFromState: flag.boolean(
    ROLLUP,
    'fetch-withdrawal-root-from-state',
    'Read the withdrawal storage root by eth_getProof also after Isthmus',
  ),

  sequencerEnabled: flag.boolean(SEQUENCER, 'sequencer.enabled', 'Make the blocks of this chain'),
  sequencerStopped: flag.boolean(SEQUENCER, 'sequencer.stopped', 'Wait for admin_startSequencer before the first one'),
  sequencerL1Confs: flag.integer(SEQUENCER, 'sequencer.l1-confs', 4, 'L1 blocks on top before one becomes an origin'),
  sequencerSealingDuration: flag.durationMs(
    SEQUENCER,
    'sequencer.sealing-duration',
    50,
    'Time before its timestamp at which a block is sealed',
  ),
  sequencerRecover: flag.boolean(
    SEQUENCER,
    'sequencer.recover',
    'Make blocks with forced transactions only, on the L1 origins that derivation would choose',
  ),
  conductorEnabled: flag.boolean(
    SEQUENCER,
    'conductor.enabled',
    'Let an op-conductor decide when this node makes blocks',
  ),
  conductorRpc: flag.string(SEQUENCER, 'conductor.rpc', 'http://127.0.0.1:8547', "Address of the conductor's RPC", {
    placeholder: '<url>',
  }),
  conductorRpcTimeout: flag.durationMs(
    SEQUENCER,
    'conductor.rpc-timeout',
    1000,
    'Time that a call of the conductor may take, its repetition included',
  ),

  rpcAddr: flag.string(RPC, 'rpc.addr', '127.0.0.1', 'Address that RPC listens on', { placeholder: '<ip>' }),
  rpcPort: flag.port(RPC, 'rpc.port', 9545, 'Port that RPC listens on'),
  rpcEnableAdmin: flag.boolean(RPC, 'rpc.enable-admin', 'Serve the admin methods'),
  rpcCorsDomain: flag.list(
    RPC,
    'rpc.corsdomain',
    'Origins whose web pages may also call methods that change something, beside those of this machine; * stands for any text',
  ),
  rpcVhosts: flag.list(
    RPC,
    'rpc.vhosts',
    'Host names that requests may be addressed to; * = any (default: localhost where --rpc.addr is a loopback address, any otherwise)',
  ),
  ...tokenFlags(RPC),
  rpcReadyBlocks: flag.integer(
    RPC,
    'rpc.ready-blocks',
    30,
    'Blocks that the unsafe head of a node that catches up may be behind the clock for /readyz to say that it is ready',
    { min: 1 },
  ),
  rpcAdminState: flag.optional(
    RPC,
    'rpc.admin-state',
    'File that remembers what was decided by RPC: whether the sequencer runs, and admin_setSdmPostExecOptIn',
    {
      placeholder: '<file>',
    },
  ),

  dashboard: flag.boolean(
    RPC,
    'dashboard',
    'Serve a page at /dashboard of the RPC that shows how the node is, and why',
  ),
  dashboardName: flag.string(RPC, 'dashboard.name', 'this node', 'What the page, status and sentences call this node', {
    placeholder: '<name>',
  }),
  dashboardNodes: flag.list(
    RPC,
    'dashboard.nodes',
    'RPC addresses of other nodes that the page shows too; each must let the page in (--rpc.corsdomain). 0.0.0.0 stands for the host that the page came from',
    { placeholder: '<name=url,…>' },
  ),
  dashboardBatcher: flag.optional(
    RPC,
    'dashboard.batcher',
    "Address of the batch submitter's RPC, whose admin methods are on: the page shows it, and the node knows when it is stopped",
    {
      placeholder: '<url>',
    },
  ),
  dashboardBatcherTokenFile: flag.optional(
    RPC,
    'dashboard.batcher-token-file',
    'File with the bearer token that the batch submitter asks for (its --rpc.token-file)',
    { placeholder: '<file>' },
  ),

  dashboardTestnet: flag.optional(
    RPC,
    'dashboard.testnet',
    'Directory of a testnet that runs on this machine: the page takes its commands',
    { placeholder: '<dir>' },
  ),

  metricsEnabled: flag.boolean(METRICS, 'metrics.enabled', 'Serve metrics'),
  metricsAddr: flag.string(METRICS, 'metrics.addr', '127.0.0.1', 'Address that metrics listen on', {
    placeholder: '<ip>',
  }),
  metricsPort: flag.port(METRICS, 'metrics.port', 7300, 'Port that metrics listen on'),

  // op-node's flags that have no effect here, or that op-node ignores too.
  l1BeaconFetchAllSidecars: ignoredFlag('l1.beacon.fetch-all-sidecars'),
  pprofEnabled: ignoredFlag('pprof.enabled'),
  pprofAddr: ignoredFlag('pprof.addr'),
  pprofPort: ignoredFlag('pprof.port'),
  pprofType: ignoredFlag('pprof.type'),
  pprofPath: ignoredFlag('pprof.path'),
  rollupHalt: ignoredFlag('rollup.halt'),
  rollupLoadProtocolVersions: ignoredFlag('rollup.load-protocol-versions'),
  sequencerMaxSafeLag: ignoredFlag('sequencer.max-safe-lag'),
  snapshotLog: ignoredFlag('snapshotlog.file'),
  heartbeatEnabled: ignoredFlag('heartbeat.enabled'),
  heartbeatMoniker: ignoredFlag('heartbeat.moniker'),
  heartbeatUrl: ignoredFlag('heartbeat.url'),
  l2EngineSync: ignoredFlag('l2.engine-sync'),
  betaExtraNetworks: ignoredFlag('beta.extra-networks'),
  l2BackupUnsafeSyncRpc: ignoredFlag('l2.backup-unsafe-sync-rpc'),

  config: configFlag,
  ...logFlags,
} as const

/** The fork that each flag overrides. */
export const FORK_OVERRIDES = {
  overrideCanyon: 'canyon',
  overrideDelta: 'delta',
  overrideEcotone: 'ecotone',
  overrideFjord: 'fjord',
  overrideGranite: 'granite',
  overrideHolocene: 'holocene',
  overrideIsthmus: 'isthmus',
  overrideJovian: 'jovian',
  overrideKarst: 'karst',
  overrideLagoon: 'lagoon',
} as const satisfies Partial<Record<keyof typeof rollupNodeFlags, Fork>>

function overrideFlag(fork: Fork): FlagSpec<number | undefined> {
  return timeFlag(fork, `Activation time of ${fork} instead of the rollup config's`)
}

/** Without the flag, the rollup config decides. */
function keepKarstUpgradeGasFlag(): FlagSpec<boolean | undefined> {
  const description =
    "Whether the gas limit that Karst's activation block raises stays, instead of the rollup config's word"
  return { ...flag.boolean(ROLLUP, 'override.keep-karst-upgrade-gas', description), default: undefined }
}

function timeFlag(name: string, description: string): FlagSpec<number | undefined> {
  return {
    group: ROLLUP,
    name: `override.${name}`,
    description: `${description} (Unix seconds)`,
    default: undefined,
    placeholder: '<time>',
    parse: (text) => {
      const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
      if (!Number.isSafeInteger(value)) throw new UsageError('expected a Unix time in seconds')
      return value
    },
  }
}
