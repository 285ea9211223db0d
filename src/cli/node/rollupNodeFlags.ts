import { L1_RPC_KINDS } from '../../l1/index.ts'
import { UsageError } from '../../lib/errors.ts'
import { SYNC_MODES } from '../../rollup/engine/elSync.ts'
import { DEFAULT_MAX_REORG_WINDOWS } from '../../rollup/engine/findStartHeads.ts'
import type { Fork } from '../../rollup/protocol/index.ts'
import {
  COMMON_IGNORED_FLAGS,
  configFlags,
  type FlagRow,
  type FlagValues,
  flag,
  flagGroup,
  ignoredFlags,
  metricsFlags,
  unsupportedFlags,
} from '../shared/flags.ts'
import { logFlags } from '../shared/program.ts'
import { tokenFlags } from '../shared/tokenFlags.ts'

const l1Flags = flagGroup('L1', {
  l1: flag.list(
    'JSON-RPC addresses of L1 (http or ws), the preferred address first. The node uses the next address when one fails',
    {
      env: 'L1_ETH_RPC',
      placeholder: '<url,…>',
      default: ['http://127.0.0.1:8545'],
    },
  ),
  'l1.trustrpc': flag.boolean('Do not check hashes and roots in answers of L1', {
    env: 'L1_TRUST_RPC',
  }),
  'l1.rpckind': flag.choice(
    L1_RPC_KINDS,
    'standard',
    'Kind of L1 endpoint, which decides how the node requests receipts',
    {
      env: 'L1_RPC_KIND',
    },
  ),
  'l1.max-concurrency': flag.integer(10, 'Maximum number of concurrent requests to L1', {
    min: 1,
  }),
  'l1.rpc-rate-limit': flag.number(0, 'Maximum number of requests to L1 per second; 0 = no limit'),
  'l1.rpc-max-batch-size': flag.integer(20, 'Maximum number of requests in one batch', {
    min: 1,
    max: 500,
  }),
  'l1.cache-size': flag.integer(
    0,
    'Number of L1 headers in memory; 0 = one and a half sequencing windows, at least 900',
    {
      min: 0,
      max: 1_000_000,
    },
  ),
  'l1.http-poll-interval': flag.durationMs(12_000, 'Interval of polling the L1 head'),
  'l1.epoch-poll-interval': flag.durationMs(384_000, 'Interval of polling the safe and finalized L1 blocks'),
  'l1.runtime-config-reload-interval': flag.durationMs(
    600_000,
    'Interval of reading the unsafe block signer from L1; 0 = only at the start',
  ),
  'l1.beacon': flag.optional('<url>', 'Address of the L1 beacon API, which serves blobs'),
  'l1.beacon-header': flag.optional('<header>', 'HTTP header of requests to --l1.beacon, as "Name: value"'),
  'l1.beacon-fallbacks': flag.list('More beacon APIs or blob archives, used when --l1.beacon fails or lacks a blob', {
    placeholder: '<url,…>',
  }),
  'l1.beacon-archiver': flag.list('Old name of --l1.beacon-fallbacks', {
    placeholder: '<url,…>',
    hidden: true,
  }),
  'l1.beacon.ignore': flag.boolean(
    'Start without a beacon API, or although it does not answer. The node then cannot derive batches in blobs',
  ),
  'l1.beacon.slot-duration-override': flag.integer(
    0,
    'Seconds per slot of the beacon chain; 0 = as the beacon API reports',
  ),
  'finality.lookback': flag.integer(
    0,
    'Number of derived L1 blocks that are kept with their safe heads until L1 finalizes them; 0 = 129',
    {
      min: 0,
      max: 1_000_000,
    },
  ),
  'finality.delay': flag.integer(
    0,
    'Number of derived L1 blocks after which finalization is tried again without a newer finalized L1 block; 0 = 64',
    { min: 0, max: 1_000_000 },
  ),
  'verifier.l1-confs': flag.integer(0, 'Number of confirmations that an L1 block needs before derivation reads it'),
})

const engineFlags = flagGroup('L2 engine', {
  l2: flag.optional('<url>', 'Address of the Engine API (authenticated)', { env: 'L2_ENGINE_RPC' }),
  'l2.jwt-secret': flag.optional('<file>', 'File with the JWT secret of the Engine API: 32 bytes of hex', {
    env: 'L2_ENGINE_AUTH',
  }),
  'l2.enginekind': flag.choice(['geth', 'reth', 'erigon'], 'reth', 'Kind of execution client', {
    env: 'L2_ENGINE_KIND',
  }),
  'l2.engine-rpc-timeout': flag.durationMs(10_000, 'Timeout of a call to the engine'),
  'l2.skip-sync-start-check': flag.boolean(
    'At the start, do not check the blocks between the safe head and the latest block with a canonical L1 origin',
  ),
})

function timeFlag(description: string): FlagRow<number | undefined> {
  const parse = (text: string): number => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (!Number.isSafeInteger(value)) throw new UsageError('expected a Unix time in seconds')
    return value
  }
  return flag.custom('<time>', parse, undefined, `${description} (Unix seconds)`)
}

const forkTime = (fork: string) => timeFlag(`Activation time of ${fork}, in place of the rollup config's`)

const rollupFlags = flagGroup('Rollup', {
  'l2.follow.source': flag.optional(
    '<url>',
    'Derive nothing, and copy the safe and finalized heads of the rollup node at this RPC address',
  ),
  'l2.follow.source.rpc-timeout': flag.durationMs(10_000, 'Timeout of a request to --l2.follow.source'),
  syncmode: flag.choice(
    SYNC_MODES,
    'consensus-layer',
    'How the chain syncs: this node derives from L1 and requests blocks from peers, or the engine syncs first by its own network',
  ),
  'syncmode.req-resp': flag.boolean(
    'Request missing unsafe blocks from peers; false: the engine closes gaps by its own network',
    { default: true },
  ),
  'syncmode.offset-el-safe': flag.durationMs(
    43_200_000,
    'After a sync of the engine: time by which the safe and finalized heads stay behind its head',
  ),
  network: flag.optional('<name>', 'Name of a network, built in or added with devium networks add'),
  'rollup.config': flag.optional('<file>', 'File with the rollup config'),
  'rollup.l1-chain-config': flag.optional(
    '<file>',
    "File with L1's chain config or genesis. Required for the blob fee parameters of a private L1",
  ),
  'interop.dependency-set': flag.optional(
    '<file>',
    'File with the chains whose messages this chain accepts. Required if Lagoon is scheduled',
  ),
  'rollup.upgrade-bundle': flag.list(
    "File with a fork's published upgrade transactions. Required at the activation block of Lagoon",
    { placeholder: '<file>' },
  ),
  'rollup.max-reorg-windows': flag.integer(
    DEFAULT_MAX_REORG_WINDOWS,
    'Maximum depth of an L1 reorg, in sequencing windows. At a deeper reorg the node derives nothing, logs what helps, and keeps trying',
    { min: 1 },
  ),
  'override.canyon': forkTime('canyon'),
  'override.delta': forkTime('delta'),
  'override.ecotone': forkTime('ecotone'),
  'override.fjord': forkTime('fjord'),
  'override.granite': forkTime('granite'),
  'override.holocene': forkTime('holocene'),
  'override.isthmus': forkTime('isthmus'),
  'override.jovian': forkTime('jovian'),
  'override.karst': forkTime('karst'),
  'override.lagoon': forkTime('lagoon'),
  // Without the flag, the rollup config decides.
  'override.keep-karst-upgrade-gas': {
    ...flag.boolean("Keep the gas limit that Karst's activation block raises (default: as the rollup config says)"),
    default: undefined,
  } satisfies FlagRow<boolean | undefined>,
  'override.pectrablobschedule': timeFlag('L1 time of the Pectra blob schedule fix'),
  'ignore-missing-pectra-blob-schedule': flag.boolean(
    'Start even if the rollup config of a chain on Sepolia seems to lack pectra_blob_schedule_time',
  ),
  'safedb.path': flag.optional(
    '<dir>',
    'Directory of the database of safe heads by L1 block (optimism_safeHeadAtL1Block)',
  ),
  'fetch-withdrawal-root-from-state': flag.boolean(
    'Read the withdrawal storage root by eth_getProof even after Isthmus',
  ),
})

const sequencerFlags = flagGroup('Sequencer', {
  'sequencer.enabled': flag.boolean('Run as the sequencer of the chain'),
  'sequencer.stopped': flag.boolean('Build no block until admin_startSequencer is called'),
  'sequencer.l1-confs': flag.integer(
    4,
    'Number of confirmations that an L1 block needs before it becomes an L1 origin',
  ),
  'sequencer.sealing-duration': flag.durationMs(
    50,
    'Time before the timestamp of a block at which the sequencer seals it',
  ),
  'sequencer.recover': flag.boolean(
    'Build blocks with forced transactions only, on the L1 origins that derivation would choose',
  ),
  'conductor.enabled': flag.boolean('Let an op-conductor decide when this node builds blocks'),
  'conductor.rpc': flag.string('<url>', 'http://127.0.0.1:8547', "Address of the op-conductor's RPC"),
  'conductor.rpc-timeout': flag.durationMs(1000, 'Timeout of a call to the op-conductor, including one retry'),
})

const rpcFlags = flagGroup('RPC', {
  'rpc.addr': flag.string('<ip>', '127.0.0.1', 'Address that the RPC listens on'),
  'rpc.port': flag.port(9545, 'Port that the RPC listens on'),
  'rpc.enable-admin': flag.boolean('Serve the admin methods'),
  'rpc.corsdomain': flag.list(
    "Origins whose web pages may call methods that change something, in addition to this machine's; * matches any text",
  ),
  'rpc.vhosts': flag.list(
    'Host names that a request may name; * = any (default: localhost if --rpc.addr is a loopback address, else any)',
  ),
  ...tokenFlags,
  'rpc.ready-blocks': flag.integer(
    30,
    'Maximum distance of the unsafe head to the clock, in blocks, for /readyz to report a syncing node as ready',
    { min: 1 },
  ),
  'rpc.admin-state': flag.optional(
    '<file>',
    'File that keeps settings made by RPC across a restart: whether the sequencer runs, and admin_setSdmPostExecOptIn',
  ),
  dashboard: flag.boolean("Serve a web page at /dashboard that shows the node's health and its causes"),
  'dashboard.name': flag.string('<name>', 'this node', 'Name of this node on the page and in health reports'),
  'dashboard.nodes': flag.list(
    'RPC addresses of other nodes for the page to show. Each node must allow the origin of the page (--rpc.corsdomain). 0.0.0.0 means the host of the page',
    { placeholder: '<name=url,…>' },
  ),
  'dashboard.batcher': flag.optional(
    '<url>',
    "Address of the batch submitter's RPC, for the page and the health of the node. The submitter needs --rpc.enable-admin",
  ),
  'dashboard.batcher-token-file': flag.optional(
    '<file>',
    'File with the bearer token of the batch submitter (its --rpc.token-file)',
  ),
  'dashboard.testnet': flag.optional(
    '<dir>',
    'Directory of a testnet on this machine. The page then offers its commands',
  ),
})

/** op-node's flags that have no effect here, or that op-node ignores too. */
const withoutEffect = ignoredFlags('op-node', [
  ...COMMON_IGNORED_FLAGS,
  'l1.beacon.fetch-all-sidecars',
  'rollup.halt',
  'rollup.load-protocol-versions',
  'snapshotlog.file',
  'heartbeat.enabled',
  'heartbeat.moniker',
  'heartbeat.url',
  'l2.engine-sync',
  'beta.extra-networks',
  'l2.backup-unsafe-sync-rpc',
  'l2.backup-unsafe-sync-rpc.trustrpc',
])

/** op-node's flags, as far as this node implements them, with op-node's names, defaults and variables. */
export const rollupNodeFlags = {
  ...l1Flags,
  ...engineFlags,
  ...rollupFlags,
  ...sequencerFlags,
  ...rpcFlags,
  ...metricsFlags,
  ...withoutEffect,
  ...unsupportedFlags(['altda.enabled', 'experimental.sequencer-api']),
  ...configFlags,
  ...logFlags,
}

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
} as const satisfies Partial<Record<keyof FlagValues<typeof rollupNodeFlags>, Fork>>
