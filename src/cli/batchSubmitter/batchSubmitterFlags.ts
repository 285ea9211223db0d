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
    'JSON-RPC addresses of L1 (http). The submitter uses the next address when one does not answer',
    {
      placeholder: '<url,…>',
    },
  ),
  l2EthRpc: flag.string(ENDPOINTS, 'l2-eth-rpc', '', 'JSON-RPC addresses of the L2 execution clients (http)', {
    placeholder: '<url,…>',
  }),
  rollupRpc: flag.string(
    ENDPOINTS,
    'rollup-rpc',
    '',
    'JSON-RPC addresses of the rollup nodes (http), one for each execution client',
    {
      placeholder: '<url,…>',
    },
  ),
  activeSequencerCheck: flag.durationMs(
    ENDPOINTS,
    'active-sequencer-check-duration',
    5_000,
    'With several rollup nodes: interval of checking which node is the active sequencer',
  ),
  networkTimeout: flag.durationMs(ENDPOINTS, 'network-timeout', 10_000, 'Timeout of a request'),

  privateKey: flag.optional(
    ACCOUNT,
    'private-key',
    'Private key of the sender. The environment variable is safer than the flag',
    {
      placeholder: '<hex>',
    },
  ),
  mnemonic: flag.optional(ACCOUNT, 'mnemonic', 'Mnemonic of the key. The environment variable is safer than the flag', {
    placeholder: '<words>',
  }),
  hdPath: flag.string(ACCOUNT, 'hd-path', DEFAULT_HD_PATH, 'Derivation path of the key of --mnemonic', {
    placeholder: '<path>',
  }),
  sequencerHdPath: {
    ...flag.optional(ACCOUNT, 'sequencer-hd-path', 'Old name of --hd-path', { placeholder: '<path>' }),
    hidden: true,
  } satisfies FlagSpec<string | undefined>,

  stopped: flag.boolean(BATCHES, 'stopped', 'Start idle, and wait for admin_startBatcher'),
  pollInterval: flag.durationMs(BATCHES, 'poll-interval', 6_000, 'Interval of polling the L2 chain'),
  maxChannelDuration: flag.integer(
    BATCHES,
    'max-channel-duration',
    0,
    'Maximum number of L1 blocks that a channel stays open; 0 = until it is full',
  ),
  subSafetyMargin: flag.integer(
    BATCHES,
    'sub-safety-margin',
    10,
    'Safety margin in L1 blocks before a channel times out or a sequencing window ends',
  ),
  maxL1TxSizeBytes: flag.integer(
    BATCHES,
    'max-l1-tx-size-bytes',
    120_000,
    'Maximum calldata of one L1 transaction, in bytes',
  ),
  targetNumFrames: flag.integer(BATCHES, 'target-num-frames', 1, 'Target number of frames of a channel'),
  batchType: flag.integer(BATCHES, 'batch-type', 0, '0 = singular batches, 1 = span batches'),
  maxBlocksPerSpanBatch: flag.integer(
    BATCHES,
    'max-blocks-per-span-batch',
    0,
    'Maximum number of blocks in one span batch; 0 = no limit',
  ),
  compressor: flag.choice(
    BATCHES,
    'compressor',
    COMPRESSOR_KINDS,
    'shadow',
    'How the submitter measures whether a channel is full',
  ),
  approxComprRatio: flag.number(
    BATCHES,
    'approx-compr-ratio',
    0.6,
    'Compression ratio that the ratio compressor assumes',
  ),
  compressionAlgorithm: flag.choice(
    BATCHES,
    'compression-algo',
    COMPRESSION_ALGORITHMS,
    'zlib',
    'Compression algorithm of channels',
  ),
  dataAvailabilityType: flag.choice(
    BATCHES,
    'data-availability-type',
    DATA_AVAILABILITY_TYPES,
    'calldata',
    'Where the submitter posts data; auto picks the cheaper',
  ),
  waitNodeSync: flag.boolean(
    BATCHES,
    'wait-node-sync',
    'At the start, wait until the rollup node has reached the L1 head',
  ),
  checkRecentTxsDepth: flag.integer(
    BATCHES,
    'check-recent-txs-depth',
    0,
    `L1 blocks to search for our last transaction. Loading starts when the rollup node has derived it. At most ${MAX_CHECK_RECENT_TXS_DEPTH}; 0 = ${MAX_CHECK_RECENT_TXS_DEPTH}, or no search with --wait-node-sync`,
  ),

  throttleType: flag.choice(
    THROTTLING,
    'throttle.controller-type',
    THROTTLE_CONTROLLERS,
    'quadratic',
    'How the controller computes the limits of block builders from the amount of unsafe data',
  ),
  throttleLower: flag.integer(
    THROTTLING,
    'throttle.unsafe-da-bytes-lower-threshold',
    3_200_000,
    'Bytes of unsafe data above which block builders are throttled; 0 = never',
  ),
  throttleUpper: flag.integer(
    THROTTLING,
    'throttle.unsafe-da-bytes-upper-threshold',
    12_800_000,
    'Bytes of unsafe data at which throttling is strongest',
  ),
  throttleTxLower: flag.integer(
    THROTTLING,
    'throttle.tx-size-lower-limit',
    150,
    'Size limit of a transaction when throttling is strongest; 0 = none',
  ),
  throttleTxUpper: flag.integer(
    THROTTLING,
    'throttle.tx-size-upper-limit',
    20_000,
    'Size limit of a transaction when throttling begins',
  ),
  throttleBlockLower: flag.integer(
    THROTTLING,
    'throttle.block-size-lower-limit',
    2_000,
    'Size limit of a block when throttling is strongest; 0 = none',
  ),
  throttleBlockUpper: flag.integer(
    THROTTLING,
    'throttle.block-size-upper-limit',
    130_000,
    'Size limit of a block without throttling',
  ),
  throttleEndpoints: flag.list(
    THROTTLING,
    'throttle.additional-endpoints',
    'More block builders to throttle (http), in addition to --l2-eth-rpc',
    { placeholder: '<url,…>' },
  ),
  throttlePidKp: flag.number(THROTTLING, 'throttle.pid-kp', 0.33, 'Proportional factor of the pid controller'),
  throttlePidKi: flag.number(THROTTLING, 'throttle.pid-ki', 0.01, 'Integral factor of the pid controller'),
  throttlePidKd: flag.number(THROTTLING, 'throttle.pid-kd', 0.05, 'Derivative factor of the pid controller'),
  throttlePidIntegralMax: flag.number(
    THROTTLING,
    'throttle.pid-integral-max',
    1_000,
    'Maximum of the integral of the pid controller',
  ),
  throttlePidOutputMax: flag.number(THROTTLING, 'throttle.pid-output-max', 1, 'Maximum output of the pid controller'),
  throttlePidSampleTime: flag.durationMs(
    THROTTLING,
    'throttle.pid-sample-time',
    2_000,
    'Sample interval of the pid controller',
  ),

  maxPendingTx: flag.integer(
    TRANSACTIONS,
    'max-pending-tx',
    1,
    'Maximum number of unconfirmed transactions; 0 = no limit. The transactions of one channel may exceed it',
  ),
  numConfirmations: flag.integer(
    TRANSACTIONS,
    'num-confirmations',
    10,
    'L1 blocks until a transaction counts as confirmed',
  ),
  resubmissionTimeout: flag.durationMs(
    TRANSACTIONS,
    'resubmission-timeout',
    48_000,
    'Time after which the submitter replaces an unmined transaction with higher fees',
  ),
  safeAbortNonceTooLowCount: flag.integer(
    TRANSACTIONS,
    'safe-abort-nonce-too-low-count',
    3,
    'Number of "nonce too low" errors after which a transaction is aborted',
  ),
  feeLimitMultiplier: flag.integer(
    TRANSACTIONS,
    'fee-limit-multiplier',
    5,
    'Maximum fees of a replacement, as a multiple of the suggested fees. The limit ends when L1 can no longer mine the transaction',
    {},
    { env: 'TXMGR_FEE_LIMIT_MULTIPLIER' },
  ),
  feeLimitThreshold: flag.number(
    TRANSACTIONS,
    'txmgr.fee-limit-threshold',
    100,
    'Fees in gwei below which --fee-limit-multiplier does not apply',
  ),
  minBaseFee: flag.number(TRANSACTIONS, 'txmgr.min-basefee', 1, 'Minimum base fee in gwei for the fee cap'),
  minTipCap: flag.number(TRANSACTIONS, 'txmgr.min-tip-cap', 1, 'Minimum tip in gwei'),
  maxBaseFee: flag.number(
    TRANSACTIONS,
    'txmgr.max-basefee',
    0,
    'Base fee in gwei above which the submitter sends nothing; 0 = no limit',
  ),
  maxTipCap: flag.number(
    TRANSACTIONS,
    'txmgr.max-tip-cap',
    0,
    'Tip in gwei above which the submitter sends nothing; 0 = no limit',
  ),
  blobTipCapDynamic: flag.boolean(
    TRANSACTIONS,
    'txmgr.blob-tip-cap-dynamic',
    'Take the tip of blob transactions from recent L1 blocks, even below --txmgr.min-tip-cap',
  ),
  blobTipCapPercentile: flag.integer(
    TRANSACTIONS,
    'txmgr.blob-tip-cap-percentile',
    60,
    'Percentile of the recent tips for --txmgr.blob-tip-cap-dynamic',
  ),
  blobTipCapRange: flag.integer(
    TRANSACTIONS,
    'txmgr.blob-tip-cap-range',
    20,
    'Number of recent L1 blocks for --txmgr.blob-tip-cap-dynamic',
  ),
  sendTimeout: flag.durationMs(
    TRANSACTIONS,
    'txmgr.send-timeout',
    0,
    'Time after which a transaction is aborted; 0 = never, which keeps the order of batches',
    { env: 'TXMGR_TX_SEND_TIMEOUT' },
  ),
  notInMempoolTimeout: flag.durationMs(
    TRANSACTIONS,
    'txmgr.not-in-mempool-timeout',
    120_000,
    'Time within which L1 must accept a transaction',
    { env: 'TXMGR_TX_NOT_IN_MEMPOOL_TIMEOUT' },
  ),
  receiptQueryInterval: flag.durationMs(
    TRANSACTIONS,
    'txmgr.receipt-query-interval',
    12_000,
    'Maximum interval between requests for a receipt. Each new L1 head causes a request too',
  ),
  rebroadcastInterval: flag.durationMs(
    TRANSACTIONS,
    'txmgr.rebroadcast-interval',
    12_000,
    'Time after which the submitter sends an unmined transaction again, unchanged',
  ),
  retryInterval: flag.durationMs(
    TRANSACTIONS,
    'txmgr.retry-interval',
    1_000,
    'Pause before the next attempt after an error',
  ),
  maxRetries: flag.integer(TRANSACTIONS, 'txmgr.max-retries', 10, 'Maximum number of attempts to create a transaction'),
  cellProofTime: {
    group: TRANSACTIONS,
    name: 'txmgr.cell-proof-time',
    description:
      "Unix time of L1's Osaka fork, from which blobs need cell proofs. Not needed for Ethereum and its testnets",
    placeholder: '<seconds>',
    default: undefined,
    parse: parseUnixTime,
  } satisfies FlagSpec<number | undefined>,
  alreadyPublishedErrors: flag.list(
    TRANSACTIONS,
    'txmgr.already-published-custom-errs',
    'More L1 error texts that mean: L1 already has this transaction',
  ),

  rpcAddr: flag.string(RPC, 'rpc.addr', '127.0.0.1', 'Address that the RPC listens on', { placeholder: '<ip>' }),
  rpcPort: flag.port(RPC, 'rpc.port', 8545, 'Port that the RPC listens on; 0 = any free port'),
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
