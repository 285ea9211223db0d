import {
  COMPRESSION_ALGORITHMS,
  COMPRESSOR_KINDS,
  DATA_AVAILABILITY_TYPES,
  DEFAULT_HD_PATH,
  MAX_CHECK_RECENT_TXS_DEPTH,
  THROTTLE_CONTROLLERS,
} from '../../batcher/index.ts'
import { UsageError } from '../../lib/errors.ts'
import { configFlag, type FlagSpec, type FlagValues, flag, ignoredFlag } from '../shared/flags.ts'
import { logFlags } from '../shared/program.ts'
import { signerFlags } from '../shared/signerFlags.ts'
import { tokenFlags } from '../shared/tokenFlags.ts'

const ENDPOINTS = 'Endpoints'
const BATCHES = 'Batches'
const ACCOUNT = 'Account'
const TRANSACTIONS = 'Transactions'
const THROTTLING = 'Throttling'
const RPC = 'RPC'
const METRICS = 'Metrics'

/** op-batcher's flags, as far as this submitter implements them, with op-batcher's names, defaults and variables. */
export const batchSubmitterFlags = {
  l1EthRpc: flag.string(
    ENDPOINTS,
    'l1-eth-rpc',
    '',
    "Addresses of L1's JSON-RPC (http); the next is used when one does not answer",
    {
      placeholder: '<url,…>',
    },
  ),
  l2EthRpc: flag.string(ENDPOINTS, 'l2-eth-rpc', '', "Addresses of the L2 execution clients' JSON-RPC (http)", {
    placeholder: '<url,…>',
  }),
  rollupRpc: flag.string(
    ENDPOINTS,
    'rollup-rpc',
    '',
    "Addresses of the rollup nodes' JSON-RPC (http), one for each execution client",
    {
      placeholder: '<url,…>',
    },
  ),
  activeSequencerCheck: flag.durationMs(
    ENDPOINTS,
    'active-sequencer-check-duration',
    5_000,
    'With several rollup nodes: time after which it is asked again which of them makes blocks',
  ),
  networkTimeout: flag.durationMs(ENDPOINTS, 'network-timeout', 10_000, 'Time that a request may take'),

  privateKey: flag.optional(ACCOUNT, 'private-key', 'Key of the sender; better given by environment', {
    placeholder: '<hex>',
  }),
  mnemonic: flag.optional(ACCOUNT, 'mnemonic', 'Words that the key is derived from; better given by environment', {
    placeholder: '<words>',
  }),
  hdPath: flag.string(ACCOUNT, 'hd-path', DEFAULT_HD_PATH, 'Path that is derived with --mnemonic', {
    placeholder: '<path>',
  }),
  sequencerHdPath: {
    ...flag.optional(ACCOUNT, 'sequencer-hd-path', 'Old name of --hd-path', { placeholder: '<path>' }),
    hidden: true,
  } satisfies FlagSpec<string | undefined>,

  stopped: flag.boolean(BATCHES, 'stopped', 'Start idle; admin_startBatcher begins'),
  pollInterval: flag.durationMs(BATCHES, 'poll-interval', 6_000, 'Time between looks at the L2 chain'),
  maxChannelDuration: flag.integer(
    BATCHES,
    'max-channel-duration',
    0,
    'L1 blocks that a channel stays open; 0 = until it is full',
  ),
  subSafetyMargin: flag.integer(
    BATCHES,
    'sub-safety-margin',
    10,
    'L1 blocks kept in reserve before a channel or the sequencing window times out',
  ),
  maxL1TxSizeBytes: flag.integer(BATCHES, 'max-l1-tx-size-bytes', 120_000, 'Calldata of one L1 transaction'),
  targetNumFrames: flag.integer(BATCHES, 'target-num-frames', 1, 'Frames that a channel aims at'),
  batchType: flag.integer(BATCHES, 'batch-type', 0, '0 = singular batches, 1 = span batches'),
  maxBlocksPerSpanBatch: flag.integer(
    BATCHES,
    'max-blocks-per-span-batch',
    0,
    'Blocks in one span batch; 0 = no limit',
  ),
  compressor: flag.choice(BATCHES, 'compressor', COMPRESSOR_KINDS, 'shadow', 'How a channel is filled'),
  approxComprRatio: flag.number(BATCHES, 'approx-compr-ratio', 0.6, 'Ratio that the ratio compressor assumes'),
  compressionAlgorithm: flag.choice(
    BATCHES,
    'compression-algo',
    COMPRESSION_ALGORITHMS,
    'zlib',
    'Compression of channels',
  ),
  dataAvailabilityType: flag.choice(
    BATCHES,
    'data-availability-type',
    DATA_AVAILABILITY_TYPES,
    'calldata',
    'Where data are posted; auto: wherever it costs less',
  ),
  waitNodeSync: flag.boolean(BATCHES, 'wait-node-sync', 'Wait until the rollup node has reached the L1 head'),
  checkRecentTxsDepth: flag.integer(
    BATCHES,
    'check-recent-txs-depth',
    0,
    `L1 blocks searched for our last transaction, which the rollup node must have derived; at most ${MAX_CHECK_RECENT_TXS_DEPTH}, 0 = that, or with --wait-node-sync none`,
  ),

  throttleType: flag.choice(
    THROTTLING,
    'throttle.controller-type',
    THROTTLE_CONTROLLERS,
    'quadratic',
    'How the limits of block builders follow from the data that wait',
  ),
  throttleLower: flag.integer(
    THROTTLING,
    'throttle.unsafe-da-bytes-lower-threshold',
    3_200_000,
    'Bytes that wait to be safe from which on block builders are limited; 0 = never',
  ),
  throttleUpper: flag.integer(
    THROTTLING,
    'throttle.unsafe-da-bytes-upper-threshold',
    12_800_000,
    'Bytes from which on they are limited most',
  ),
  throttleTxLower: flag.integer(
    THROTTLING,
    'throttle.tx-size-lower-limit',
    150,
    'Least limit of a transaction; 0 = none',
  ),
  throttleTxUpper: flag.integer(THROTTLING, 'throttle.tx-size-upper-limit', 20_000, 'First limit of a transaction'),
  throttleBlockLower: flag.integer(
    THROTTLING,
    'throttle.block-size-lower-limit',
    2_000,
    'Least limit of a block; 0 = none',
  ),
  throttleBlockUpper: flag.integer(
    THROTTLING,
    'throttle.block-size-upper-limit',
    130_000,
    'Limit of a block without any load',
  ),
  throttleEndpoints: flag.list(
    THROTTLING,
    'throttle.additional-endpoints',
    'Further block builders to limit (http), beside --l2-eth-rpc',
    { placeholder: '<url,…>' },
  ),
  throttlePidKp: flag.number(THROTTLING, 'throttle.pid-kp', 0.33, 'Proportional factor of the pid controller'),
  throttlePidKi: flag.number(THROTTLING, 'throttle.pid-ki', 0.01, 'Integral factor'),
  throttlePidKd: flag.number(THROTTLING, 'throttle.pid-kd', 0.05, 'Derivative factor'),
  throttlePidIntegralMax: flag.number(THROTTLING, 'throttle.pid-integral-max', 1_000, 'Limit of the integral'),
  throttlePidOutputMax: flag.number(THROTTLING, 'throttle.pid-output-max', 1, 'Limit of the intensity'),
  throttlePidSampleTime: flag.durationMs(THROTTLING, 'throttle.pid-sample-time', 2_000, 'Time between samples'),

  maxPendingTx: flag.integer(
    TRANSACTIONS,
    'max-pending-tx',
    1,
    'Transactions that wait for confirmation at a time; 0 = no limit. Those of one channel go together all the same',
  ),
  numConfirmations: flag.integer(TRANSACTIONS, 'num-confirmations', 10, 'L1 blocks until a transaction counts'),
  resubmissionTimeout: flag.durationMs(
    TRANSACTIONS,
    'resubmission-timeout',
    48_000,
    'Time until an unmined transaction is replaced by one with higher fees',
  ),
  safeAbortNonceTooLowCount: flag.integer(
    TRANSACTIONS,
    'safe-abort-nonce-too-low-count',
    3,
    'Answers "nonce too low" until a transaction is given up',
  ),
  feeLimitMultiplier: flag.integer(
    TRANSACTIONS,
    'fee-limit-multiplier',
    5,
    'Multiple of the suggested fees that a replacement may not pass, unless L1 can no longer mine the transaction',
    {},
    { env: 'TXMGR_FEE_LIMIT_MULTIPLIER' },
  ),
  feeLimitThreshold: flag.number(
    TRANSACTIONS,
    'txmgr.fee-limit-threshold',
    100,
    'Fees in gwei below which the multiplier does not count',
  ),
  minBaseFee: flag.number(TRANSACTIONS, 'txmgr.min-basefee', 1, 'Least base fee in gwei that is assumed'),
  minTipCap: flag.number(TRANSACTIONS, 'txmgr.min-tip-cap', 1, 'Least tip in gwei'),
  maxBaseFee: flag.number(
    TRANSACTIONS,
    'txmgr.max-basefee',
    0,
    'Base fee in gwei above which nothing is sent; 0 = any',
  ),
  maxTipCap: flag.number(TRANSACTIONS, 'txmgr.max-tip-cap', 0, 'Tip in gwei above which nothing is sent; 0 = any'),
  blobTipCapDynamic: flag.boolean(
    TRANSACTIONS,
    'txmgr.blob-tip-cap-dynamic',
    'Tip for blob transactions as others of the last L1 blocks did, also below --txmgr.min-tip-cap',
  ),
  blobTipCapPercentile: flag.integer(
    TRANSACTIONS,
    'txmgr.blob-tip-cap-percentile',
    60,
    'Part of those, in percent, that tipped no more',
  ),
  blobTipCapRange: flag.integer(TRANSACTIONS, 'txmgr.blob-tip-cap-range', 20, 'L1 blocks that are looked at for it'),
  sendTimeout: flag.durationMs(
    TRANSACTIONS,
    'txmgr.send-timeout',
    0,
    'Time after which a transaction is given up; 0 = never, which keeps the order of batches',
    { env: 'TXMGR_TX_SEND_TIMEOUT' },
  ),
  notInMempoolTimeout: flag.durationMs(
    TRANSACTIONS,
    'txmgr.not-in-mempool-timeout',
    120_000,
    'Time in which the L1 must have taken a transaction',
    { env: 'TXMGR_TX_NOT_IN_MEMPOOL_TIMEOUT' },
  ),
  receiptQueryInterval: flag.durationMs(
    TRANSACTIONS,
    'txmgr.receipt-query-interval',
    12_000,
    'Longest time between looks for a receipt; it is also looked for at each new L1 head',
  ),
  rebroadcastInterval: flag.durationMs(
    TRANSACTIONS,
    'txmgr.rebroadcast-interval',
    12_000,
    'Time until an unmined transaction is sent again as it is',
  ),
  retryInterval: flag.durationMs(TRANSACTIONS, 'txmgr.retry-interval', 1_000, 'Time between attempts after an error'),
  maxRetries: flag.integer(TRANSACTIONS, 'txmgr.max-retries', 10, 'Attempts to create a transaction'),
  cellProofTime: {
    group: TRANSACTIONS,
    name: 'txmgr.cell-proof-time',
    description:
      "Unix time of the L1's Osaka, from which blobs come with cell proofs; known of Ethereum and its testnets",
    placeholder: '<seconds>',
    default: undefined,
    parse: parseUnixTime,
  } satisfies FlagSpec<number | undefined>,
  alreadyPublishedErrors: flag.list(
    TRANSACTIONS,
    'txmgr.already-published-custom-errs',
    'Error texts by which the L1 says that it has a transaction already',
  ),

  rpcAddr: flag.string(RPC, 'rpc.addr', '127.0.0.1', 'Address that the RPC listens on', { placeholder: '<ip>' }),
  rpcPort: flag.port(RPC, 'rpc.port', 8545, 'Port that the RPC listens on; 0 = any free one'),
  rpcEnableAdmin: flag.boolean(RPC, 'rpc.enable-admin', 'Serve the admin and txmgr namespaces'),
  ...tokenFlags(RPC),
  metricsEnabled: flag.boolean(METRICS, 'metrics.enabled', 'Serve metrics'),
  metricsAddr: flag.string(METRICS, 'metrics.addr', '127.0.0.1', 'Address that metrics listen on', {
    placeholder: '<ip>',
  }),
  metricsPort: flag.port(METRICS, 'metrics.port', 7300, 'Port that metrics listen on'),
  // The address of Go's profiler.
  pprofEnabled: ignoredFlag('pprof.enabled', { from: 'op-batcher' }),
  pprofAddr: ignoredFlag('pprof.addr', { from: 'op-batcher' }),
  pprofPort: ignoredFlag('pprof.port', { from: 'op-batcher' }),
  pprofType: ignoredFlag('pprof.type', { from: 'op-batcher' }),
  pprofPath: ignoredFlag('pprof.path', { from: 'op-batcher' }),
  ...signerFlags,
  config: configFlag,
  ...logFlags,
}

export type BatchSubmitterValues = FlagValues<typeof batchSubmitterFlags>

/** op-batcher writes "not set" as the greatest 64-bit number. Such a time never comes. */
function parseUnixTime(text: string): number {
  if (!/^\d{1,20}$/.test(text)) throw new UsageError(`expected a Unix time in seconds, got ${JSON.stringify(text)}`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}
