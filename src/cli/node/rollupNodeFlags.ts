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
      'JSON-RPC addresses of L1 (http or ws), the preferred address first. The node uses the next address when one fails',
      { env: 'L1_ETH_RPC', placeholder: '<url,…>' },
    ),
    default: ['http://127.0.0.1:8545'],
  } satisfies FlagSpec<string[]>,
  l1TrustRpc: flag.boolean(L1, 'l1.trustrpc', 'Do not check hashes and roots in answers of L1', {
    env: 'L1_TRUST_RPC',
  }),
  l1RpcKind: flag.choice(
    L1,
    'l1.rpckind',
    L1_RPC_KINDS,
    'standard',
    'Kind of L1 endpoint, which decides how the node requests receipts',
    {
      env: 'L1_RPC_KIND',
    },
  ),
  l1MaxConcurrency: flag.integer(L1, 'l1.max-concurrency', 10, 'Maximum number of concurrent requests to L1', {
    min: 1,
  }),
  l1RpcRateLimit: flag.number(L1, 'l1.rpc-rate-limit', 0, 'Maximum number of requests to L1 per second; 0 = no limit'),
  l1RpcMaxBatchSize: flag.integer(L1, 'l1.rpc-max-batch-size', 20, 'Maximum number of requests in one batch', {
    min: 1,
    max: 500,
  }),
  l1CacheSize: flag.integer(
    L1,
    'l1.cache-size',
    900,
    'Number of L1 headers in memory; by default more than a sequencing window',
    { min: 1, max: 1_000_000 },
  ),
  l1HttpPollInterval: flag.durationMs(L1, 'l1.http-poll-interval', 12_000, 'Interval of polling the L1 head'),
  l1EpochPollInterval: flag.durationMs(
    L1,
    'l1.epoch-poll-interval',
    384_000,
    'Interval of polling the safe and finalized L1 blocks',
  ),
  l1RuntimeConfigReloadInterval: flag.durationMs(
    L1,
    'l1.runtime-config-reload-interval',
    600_000,
    'Interval of reading the unsafe block signer from L1; 0 = only at the start',
  ),
  l1Beacon: flag.optional(L1, 'l1.beacon', 'Address of the L1 beacon API, which serves blobs', {
    placeholder: '<url>',
  }),
  l1BeaconHeader: flag.optional(L1, 'l1.beacon-header', 'HTTP header of requests to --l1.beacon, as "Name: value"', {
    placeholder: '<header>',
  }),
  l1BeaconFallbacks: flag.list(
    L1,
    'l1.beacon-fallbacks',
    'More beacon APIs or blob archives, used when --l1.beacon fails or lacks a blob',
    { placeholder: '<url,…>' },
  ),
  l1BeaconArchiver: flag.list(L1, 'l1.beacon-archiver', 'Old name of --l1.beacon-fallbacks', {
    placeholder: '<url,…>',
    hidden: true,
  }),
  l1BeaconIgnore: flag.boolean(
    L1,
    'l1.beacon.ignore',
    'Start without a beacon API, or although it does not answer. The node then cannot derive batches in blobs',
  ),
  l1BeaconSlotDurationOverride: flag.integer(
    L1,
    'l1.beacon.slot-duration-override',
    0,
    'Seconds per slot of the beacon chain; 0 = as the beacon API reports',
  ),
  verifierL1Confs: flag.integer(
    L1,
    'verifier.l1-confs',
    0,
    'Number of confirmations that an L1 block needs before derivation reads it',
  ),

  l2: flag.optional(L2, 'l2', 'Address of the Engine API (authenticated)', {
    env: 'L2_ENGINE_RPC',
    placeholder: '<url>',
  }),
  l2JwtSecret: flag.optional(L2, 'l2.jwt-secret', 'File with the JWT secret of the Engine API: 32 bytes of hex', {
    env: 'L2_ENGINE_AUTH',
    placeholder: '<file>',
  }),
  l2EngineKind: flag.choice(L2, 'l2.enginekind', ['geth', 'reth', 'erigon'], 'reth', 'Kind of execution client', {
    env: 'L2_ENGINE_KIND',
  }),
  l2EngineRpcTimeout: flag.durationMs(L2, 'l2.engine-rpc-timeout', 10_000, 'Timeout of a call to the engine'),
  l2SkipSyncStartCheck: flag.boolean(
    L2,
    'l2.skip-sync-start-check',
    'At the start, do not check the blocks between the safe head and the latest block with a canonical L1 origin',
  ),
  l2FollowSource: flag.optional(
    ROLLUP,
    'l2.follow.source',
    'Derive nothing, and copy the safe and finalized heads of the rollup node at this RPC address',
    { placeholder: '<url>' },
  ),
  l2FollowSourceRpcTimeout: flag.durationMs(
    ROLLUP,
    'l2.follow.source.rpc-timeout',
    10_000,
    'Timeout of a request to --l2.follow.source',
  ),
  syncMode: flag.choice(
    ROLLUP,
    'syncmode',
    SYNC_MODES,
    'consensus-layer',
    'How the chain syncs: this node derives from L1 and requests blocks from peers, or the engine syncs first by its own network',
  ),
  syncModeReqResp: flag.boolean(
    ROLLUP,
    'syncmode.req-resp',
    'Request missing unsafe blocks from peers; false: the engine closes gaps by its own network',
    { default: true },
  ),
  syncModeOffsetElSafe: flag.durationMs(
    ROLLUP,
    'syncmode.offset-el-safe',
    43_200_000,
    'After a sync of the engine: time by which the safe and finalized heads stay behind its head',
  ),

  network: flag.optional(ROLLUP, 'network', 'Name of a network, built in or added with devium networks add', {
    placeholder: '<name>',
  }),
  rollupConfig: flag.optional(ROLLUP, 'rollup.config', 'File with the rollup config', { placeholder: '<file>' }),
  l1ChainConfig: flag.optional(
    ROLLUP,
    'rollup.l1-chain-config',
    "File with L1's chain config or genesis. Required for the blob fee parameters of a private L1",
    { placeholder: '<file>' },
  ),
  dependencySet: flag.optional(
    ROLLUP,
    'interop.dependency-set',
    'File with the chains whose messages this chain accepts. Required if Lagoon is scheduled',
    { placeholder: '<file>' },
  ),
  upgradeBundles: flag.list(
    ROLLUP,
    'rollup.upgrade-bundle',
    "File with a fork's published upgrade transactions. Required at the activation block of Lagoon",
    { placeholder: '<file>' },
  ),
  rollupMaxReorgWindows: flag.integer(
    ROLLUP,
    'rollup.max-reorg-windows',
    DEFAULT_MAX_REORG_WINDOWS,
    'Maximum depth of an L1 reorg, in sequencing windows. At a deeper reorg the node stops and waits for the operator',
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
    'Start even if the rollup config of a chain on Sepolia seems to lack pectra_blob_schedule_time',
  ),
  safedbPath: flag.optional(
    ROLLUP,
    'safedb.path',
    'Directory of the database of safe heads by L1 block (optimism_safeHeadAtL1Block)',
    { placeholder: '<dir>' },
  ),
  fetchWithdrawalRootFromState: flag.boolean(
    ROLLUP,
    'fetch-withdrawal-root-from-state',
    'Read the withdrawal storage root by eth_getProof even after Isthmus',
  ),

  sequencerEnabled: flag.boolean(SEQUENCER, 'sequencer.enabled', 'Run as the sequencer of the chain'),
  sequencerStopped: flag.boolean(SEQUENCER, 'sequencer.stopped', 'Build no block until admin_startSequencer is called'),
  sequencerL1Confs: flag.integer(
    SEQUENCER,
    'sequencer.l1-confs',
    4,
    'Number of confirmations that an L1 block needs before it becomes an L1 origin',
  ),
  sequencerSealingDuration: flag.durationMs(
    SEQUENCER,
    'sequencer.sealing-duration',
    50,
    'Time before the timestamp of a block at which the sequencer seals it',
  ),
  sequencerRecover: flag.boolean(
    SEQUENCER,
    'sequencer.recover',
    'Build blocks with forced transactions only, on the L1 origins that derivation would choose',
  ),
  conductorEnabled: flag.boolean(
    SEQUENCER,
    'conductor.enabled',
    'Let an op-conductor decide when this node builds blocks',
  ),
  conductorRpc: flag.string(SEQUENCER, 'conductor.rpc', 'http://127.0.0.1:8547', "Address of the op-conductor's RPC", {
    placeholder: '<url>',
  }),
  conductorRpcTimeout: flag.durationMs(
    SEQUENCER,
    'conductor.rpc-timeout',
    1000,
    'Timeout of a call to the op-conductor, including one retry',
  ),

  rpcAddr: flag.string(RPC, 'rpc.addr', '127.0.0.1', 'Address that the RPC listens on', { placeholder: '<ip>' }),
  rpcPort: flag.port(RPC, 'rpc.port', 9545, 'Port that the RPC listens on'),
  rpcEnableAdmin: flag.boolean(RPC, 'rpc.enable-admin', 'Serve the admin methods'),
  rpcCorsDomain: flag.list(
    RPC,
    'rpc.corsdomain',
    "Origins whose web pages may call methods that change something, in addition to this machine's; * matches any text",
  ),
  rpcVhosts: flag.list(
    RPC,
    'rpc.vhosts',
    'Host names that a request may name; * = any (default: localhost if --rpc.addr is a loopback address, else any)',
  ),
  ...tokenFlags(RPC),
  rpcReadyBlocks: flag.integer(
    RPC,
    'rpc.ready-blocks',
    30,
    'Maximum distance of the unsafe head to the clock, in blocks, for /readyz to report a syncing node as ready',
    { min: 1 },
  ),
  rpcAdminState: flag.optional(
    RPC,
    'rpc.admin-state',
    'File that keeps settings made by RPC across a restart: whether the sequencer runs, and admin_setSdmPostExecOptIn',
    {
      placeholder: '<file>',
    },
  ),

  dashboard: flag.boolean(
    RPC,
    'dashboard',
    "Serve a web page at /dashboard that shows the node's health and its causes",
  ),
  dashboardName: flag.string(
    RPC,
    'dashboard.name',
    'this node',
    'Name of this node on the page and in health reports',
    {
      placeholder: '<name>',
    },
  ),
  dashboardNodes: flag.list(
    RPC,
    'dashboard.nodes',
    'RPC addresses of other nodes for the page to show. Each node must allow the origin of the page (--rpc.corsdomain). 0.0.0.0 means the host of the page',
    { placeholder: '<name=url,…>' },
  ),
  dashboardBatcher: flag.optional(
    RPC,
    'dashboard.batcher',
    "Address of the batch submitter's RPC, for the page and the health of the node. The submitter needs --rpc.enable-admin",
    {
      placeholder: '<url>',
    },
  ),
  dashboardBatcherTokenFile: flag.optional(
    RPC,
    'dashboard.batcher-token-file',
    'File with the bearer token of the batch submitter (its --rpc.token-file)',
    { placeholder: '<file>' },
  ),

  dashboardTestnet: flag.optional(
    RPC,
    'dashboard.testnet',
    'Directory of a testnet on this machine. The page then offers its commands',
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
  return timeFlag(fork, `Activation time of ${fork}, in place of the rollup config's`)
}

/** Without the flag, the rollup config decides. */
function keepKarstUpgradeGasFlag(): FlagSpec<boolean | undefined> {
  const description = "Keep the gas limit that Karst's activation block raises (default: as the rollup config says)"
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
