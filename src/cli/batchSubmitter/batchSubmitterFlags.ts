import {
  COMPRESSION_ALGORITHMS,
  COMPRESSOR_KINDS,
  DATA_AVAILABILITY_TYPES,
  DEFAULT_HD_PATH,
  MAX_CHECK_RECENT_TXS_DEPTH,
  THROTTLE_CONTROLLERS,
} from '../../batcher/index.ts'
import { UsageError } from '../../lib/errors.ts'
import {
  COMMON_IGNORED_FLAGS,
  configFlags,
  type FlagValues,
  flag,
  flagGroup,
  ignoredFlags,
  metricsFlags,
  unsupportedFlags,
} from '../shared/flags.ts'
import { logFlags } from '../shared/program.ts'
import { signerFlags } from '../shared/signerFlags.ts'
import { tokenFlags } from '../shared/tokenFlags.ts'

const endpointFlags = flagGroup('Endpoints', {
  'l1-eth-rpc': flag.string(
    '<url,…>',
    '',
    'JSON-RPC addresses of L1 (http). The submitter uses the next address when one does not answer',
    { repeatable: true },
  ),
  'l2-eth-rpc': flag.string('<url,…>', '', 'JSON-RPC addresses of the L2 execution clients (http)', {
    repeatable: true,
  }),
  'rollup-rpc': flag.string(
    '<url,…>',
    '',
    'JSON-RPC addresses of the rollup nodes (http), one for each execution client',
    { repeatable: true },
  ),
  'active-sequencer-check-duration': flag.durationMs(
    5_000,
    'With several rollup nodes: interval of checking which node is the active sequencer',
  ),
  'network-timeout': flag.durationMs(10_000, 'Timeout of a request'),
})

const accountFlags = flagGroup('Account', {
  'private-key': flag.optional('<hex>', 'Private key of the sender. The environment variable is safer than the flag'),
  mnemonic: flag.optional('<words>', 'Mnemonic of the key. The environment variable is safer than the flag'),
  'hd-path': flag.string('<path>', DEFAULT_HD_PATH, 'Derivation path of the key of --mnemonic'),
  'sequencer-hd-path': flag.optional('<path>', 'Old name of --hd-path', { hidden: true }),
})

const batchFlags = flagGroup('Batches', {
  stopped: flag.boolean('Start idle, and wait for admin_startBatcher'),
  'poll-interval': flag.durationMs(6_000, 'Interval of polling the L2 chain'),
  'max-channel-duration': flag.integer(
    0,
    'Maximum number of L1 blocks that a channel stays open; 0 = until it is full',
  ),
  'sub-safety-margin': flag.integer(
    10,
    'Safety margin in L1 blocks before a channel times out or a sequencing window ends',
  ),
  'max-l1-tx-size-bytes': flag.integer(120_000, 'Maximum calldata of one L1 transaction, in bytes'),
  'target-num-frames': flag.integer(1, 'Target number of frames of a channel'),
  'batch-type': flag.integer(0, '0 = singular batches, 1 = span batches'),
  'max-blocks-per-span-batch': flag.integer(0, 'Maximum number of blocks in one span batch; 0 = no limit'),
  compressor: flag.choice(COMPRESSOR_KINDS, 'shadow', 'How the submitter measures whether a channel is full'),
  'approx-compr-ratio': flag.number(0.6, 'Compression ratio that the ratio compressor assumes'),
  'compression-algo': flag.choice(COMPRESSION_ALGORITHMS, 'zlib', 'Compression algorithm of channels'),
  'data-availability-type': flag.choice(
    DATA_AVAILABILITY_TYPES,
    'calldata',
    'Where the submitter posts data; auto picks the cheaper',
  ),
  'wait-node-sync': flag.boolean('At the start, wait until the rollup node has reached the L1 head'),
  'check-recent-txs-depth': flag.integer(
    0,
    `L1 blocks to search for our last transaction. Loading starts when the rollup node has derived it. At most ${MAX_CHECK_RECENT_TXS_DEPTH}; 0 = ${MAX_CHECK_RECENT_TXS_DEPTH}, or no search with --wait-node-sync`,
  ),
})

const throttlingFlags = flagGroup('Throttling', {
  'throttle.controller-type': flag.choice(
    THROTTLE_CONTROLLERS,
    'quadratic',
    'How the controller computes the limits of block builders from the amount of unsafe data',
  ),
  'throttle.unsafe-da-bytes-lower-threshold': flag.integer(
    3_200_000,
    'Bytes of unsafe data above which block builders are throttled; 0 = never',
  ),
  'throttle.unsafe-da-bytes-upper-threshold': flag.integer(
    12_800_000,
    'Bytes of unsafe data at which throttling is strongest',
  ),
  'throttle.tx-size-lower-limit': flag.integer(
    150,
    'Size limit of a transaction when throttling is strongest; 0 = none',
  ),
  'throttle.tx-size-upper-limit': flag.integer(20_000, 'Size limit of a transaction when throttling begins'),
  'throttle.block-size-lower-limit': flag.integer(
    2_000,
    'Size limit of a block when throttling is strongest; 0 = none',
  ),
  'throttle.block-size-upper-limit': flag.integer(130_000, 'Size limit of a block without throttling'),
  'throttle.additional-endpoints': flag.list('More block builders to throttle (http), in addition to --l2-eth-rpc', {
    placeholder: '<url,…>',
  }),
  'throttle.pid-kp': flag.number(0.33, 'Proportional factor of the pid controller'),
  'throttle.pid-ki': flag.number(0.01, 'Integral factor of the pid controller'),
  'throttle.pid-kd': flag.number(0.05, 'Derivative factor of the pid controller'),
  'throttle.pid-integral-max': flag.number(1_000, 'Maximum of the integral of the pid controller'),
  'throttle.pid-output-max': flag.number(1, 'Maximum output of the pid controller'),
  'throttle.pid-sample-time': flag.durationMs(2_000, 'Sample interval of the pid controller'),
})

const transactionFlags = flagGroup('Transactions', {
  'max-pending-tx': flag.integer(
    1,
    'Maximum number of unconfirmed transactions; 0 = no limit. The transactions of one channel may exceed it',
  ),
  'num-confirmations': flag.integer(10, 'L1 blocks until a transaction counts as confirmed'),
  'resubmission-timeout': flag.durationMs(
    48_000,
    'Time after which the submitter replaces an unmined transaction with higher fees',
  ),
  'safe-abort-nonce-too-low-count': flag.integer(
    3,
    'Number of "nonce too low" errors after which a transaction is aborted',
  ),
  'fee-limit-multiplier': flag.integer(
    5,
    'Maximum fees of a replacement, as a multiple of the suggested fees. The limit ends when L1 can no longer mine the transaction',
    { env: 'TXMGR_FEE_LIMIT_MULTIPLIER' },
  ),
  'txmgr.fee-limit-threshold': flag.number(100, 'Fees in gwei below which --fee-limit-multiplier does not apply'),
  'txmgr.min-basefee': flag.number(1, 'Minimum base fee in gwei for the fee cap'),
  'txmgr.min-tip-cap': flag.number(1, 'Minimum tip in gwei'),
  'txmgr.max-basefee': flag.number(0, 'Base fee in gwei above which the submitter sends nothing; 0 = no limit'),
  'txmgr.max-tip-cap': flag.number(0, 'Tip in gwei above which the submitter sends nothing; 0 = no limit'),
  'txmgr.blob-tip-cap-dynamic': flag.boolean(
    'Take the tip of blob transactions from recent L1 blocks, even below --txmgr.min-tip-cap',
  ),
  'txmgr.blob-tip-cap-percentile': flag.integer(60, 'Percentile of the recent tips for --txmgr.blob-tip-cap-dynamic'),
  'txmgr.blob-tip-cap-range': flag.integer(20, 'Number of recent L1 blocks for --txmgr.blob-tip-cap-dynamic'),
  'txmgr.send-timeout': flag.durationMs(
    0,
    'Time after which a transaction is aborted; 0 = never, which keeps the order of batches',
    { env: 'TXMGR_TX_SEND_TIMEOUT' },
  ),
  'txmgr.not-in-mempool-timeout': flag.durationMs(120_000, 'Time within which L1 must accept a transaction', {
    env: 'TXMGR_TX_NOT_IN_MEMPOOL_TIMEOUT',
  }),
  'txmgr.receipt-query-interval': flag.durationMs(
    12_000,
    'Maximum interval between requests for a receipt. Each new L1 head causes a request too',
  ),
  'txmgr.rebroadcast-interval': flag.durationMs(
    12_000,
    'Time after which the submitter sends an unmined transaction again, unchanged',
  ),
  'txmgr.retry-interval': flag.durationMs(1_000, 'Pause before the next attempt after an error'),
  'txmgr.max-retries': flag.integer(10, 'Maximum number of attempts to create a transaction'),
  'txmgr.cell-proof-time': flag.custom<number | undefined>(
    '<seconds>',
    parseUnixTime,
    undefined,
    "Unix time of L1's Osaka fork, from which blobs need cell proofs. Not needed for Ethereum and its testnets",
  ),
  'txmgr.already-published-custom-errs': flag.list('More L1 error texts that mean: L1 already has this transaction'),
})

const rpcFlags = flagGroup('RPC', {
  'rpc.addr': flag.string('<ip>', '127.0.0.1', 'Address that the RPC listens on'),
  'rpc.port': flag.port(8545, 'Port that the RPC listens on; 0 = any free port'),
  'rpc.enable-admin': flag.boolean('Serve the admin and txmgr namespaces'),
  ...tokenFlags,
})

/** op-batcher's flags, as far as this submitter implements them, with op-batcher's names, defaults and variables. */
export const batchSubmitterFlags = {
  ...endpointFlags,
  ...accountFlags,
  ...batchFlags,
  ...throttlingFlags,
  ...transactionFlags,
  ...rpcFlags,
  ...metricsFlags,
  ...ignoredFlags('op-batcher', COMMON_IGNORED_FLAGS),
  ...unsupportedFlags(['altda.enabled']),
  ...signerFlags,
  ...configFlags,
  ...logFlags,
}

export type BatchSubmitterValues = FlagValues<typeof batchSubmitterFlags>

/** op-batcher writes "not set" as the greatest 64-bit number. Such a time never comes. */
function parseUnixTime(text: string): number {
  if (!/^\d{1,20}$/.test(text)) throw new UsageError(`expected a Unix time in seconds, got ${JSON.stringify(text)}`)
  return Math.min(Number(text), Number.MAX_SAFE_INTEGER)
}
