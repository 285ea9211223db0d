import { homedir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../lib/errors.ts'
import { configFlag, type FlagSpec, flag } from '../shared/flags.ts'
import { logFlags } from '../shared/program.ts'

const CHAIN = 'Chain'
const HTTP = 'HTTP RPC'
const WS = 'WebSocket RPC'
const ENGINE = 'Engine API'
const ROLLUP = 'Rollup'
const POOL = 'Transaction pool'
const FEES = 'Fees'
const METRICS = 'Metrics'

/** An amount of wei: decimal digits of any length. */
function wei(group: string, name: string, defaultWei: bigint, description: string): FlagSpec<bigint> {
  return {
    group,
    name,
    description,
    default: defaultWei,
    placeholder: '<wei>',
    parse: (text) => {
      if (!/^\d{1,78}$/.test(text)) throw new UsageError('expected a whole number of wei')
      return BigInt(text)
    },
  }
}

/** An optional text that must match a pattern. */
function text(
  group: string,
  name: string,
  placeholder: string,
  description: string,
  form: RegExp,
  expected: string,
): FlagSpec<string | undefined> {
  return {
    group,
    name,
    description,
    default: undefined,
    placeholder,
    parse: (given) => {
      if (!form.test(given)) throw new UsageError(`expected ${expected}`)
      return given
    },
  }
}

const admission: FlagSpec<boolean | undefined> = {
  ...flag.boolean(
    ROLLUP,
    'rollup.enabletxpooladmission',
    'Also keep forwarded transactions in the local pool (default: only without --rollup.sequencerhttp)',
  ),
  default: undefined,
}

/** op-geth's flags, as far as this client implements them, with op-geth's names and defaults. */
export const gethFlags = {
  datadir: flag.string(CHAIN, 'datadir', join(homedir(), '.devium-geth'), 'Directory of the databases', {
    placeholder: '<dir>',
  }),
  gcMode: flag.choice(
    CHAIN,
    'gcmode',
    ['full', 'archive'],
    'full',
    'Which states to keep: of the last 128 blocks and all since the finalized block, or of every block',
  ),
  networkId: text(
    CHAIN,
    'networkid',
    '<number>',
    'Network id in the answer of net_version (default: the chain id)',
    /^\d{1,20}$/,
    'a whole number',
  ),

  http: flag.boolean(HTTP, 'http', 'Serve JSON-RPC over HTTP'),
  httpAddr: flag.string(HTTP, 'http.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  httpPort: flag.port(HTTP, 'http.port', 8545, 'Port to listen on'),
  httpApi: {
    ...flag.list(HTTP, 'http.api', 'Namespaces to serve: eth, net, web3, txpool, debug, miner, admin'),
    default: ['eth', 'net', 'web3'],
  },
  httpCorsDomain: flag.list(HTTP, 'http.corsdomain', 'Origins whose web pages may call this RPC; * matches any text'),
  httpVhosts: {
    ...flag.list(HTTP, 'http.vhosts', 'Host names that a request may name; * = any'),
    default: ['localhost'],
  },
  ws: flag.boolean(WS, 'ws', 'Serve JSON-RPC and subscriptions over WebSockets'),
  wsAddr: flag.string(WS, 'ws.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  wsPort: flag.port(WS, 'ws.port', 8546, 'Port to listen on; may be the same as --http.port'),
  wsApi: {
    ...flag.list(WS, 'ws.api', 'Namespaces to serve: eth, net, web3, txpool, debug, miner, admin'),
    default: ['eth', 'net', 'web3'],
  },
  wsOrigins: flag.list(
    WS,
    'ws.origins',
    "Origins whose web pages may connect, in addition to this machine's; * matches any text",
  ),
  rpcGasCap: wei(HTTP, 'rpc.gascap', 50_000_000n, 'Maximum gas of eth_call and eth_estimateGas; 0 = no limit'),
  rpcEvmTimeout: flag.durationMs(HTTP, 'rpc.evmtimeout', 5000, 'Timeout of eth_call and eth_estimateGas; 0 = no limit'),
  rpcReadyAge: flag.durationMs(
    HTTP,
    'rpc.ready-age',
    60_000,
    'Maximum age of the head for /readyz to report the client as ready',
  ),
  rpcTxFeeCap: flag.number(HTTP, 'rpc.txfeecap', 1, 'Maximum fee of a sent transaction, in ether; 0 = no limit'),
  rpcBatchLimit: flag.integer(HTTP, 'rpc.batch-request-limit', 1000, 'Maximum number of calls in one batch', {
    min: 1,
  }),
  rpcRangeLimit: flag.integer(
    HTTP,
    'rpc.rangelimit',
    10_000,
    'Maximum number of blocks in the range of eth_getLogs; 0 = no limit',
  ),
  rpcWorkers: flag.integer(
    HTTP,
    'rpc.workers',
    0,
    'Maximum number of processes that serve HTTP and WebSockets. They start on demand; 0 = number of cores less one',
    { min: 0 },
  ),
  rpcAllowUnprotected: flag.boolean(
    HTTP,
    'rpc.allow-unprotected-txs',
    'Accept transactions without replay protection (EIP-155)',
  ),

  authAddr: flag.string(ENGINE, 'authrpc.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  authPort: flag.port(ENGINE, 'authrpc.port', 8551, 'Port to listen on'),
  authVhosts: {
    ...flag.list(ENGINE, 'authrpc.vhosts', 'Host names that a request may name; * = any'),
    default: ['localhost'],
  },
  jwtSecret: flag.optional(
    ENGINE,
    'authrpc.jwtsecret',
    'File with the shared secret; created if missing (default <datadir>/geth/jwtsecret)',
    { placeholder: '<file>' },
  ),

  sequencerHttp: flag.optional(
    ROLLUP,
    'rollup.sequencerhttp',
    "Address of the sequencer's RPC, to which transactions are forwarded",
    {
      placeholder: '<url>',
    },
  ),
  enableTxPoolAdmission: admission,
  conditionalEnabled: flag.boolean(
    ROLLUP,
    'rollup.sequencertxconditionalenabled',
    'Serve eth_sendRawTransactionConditional: a transaction enters a block only while its conditions hold',
  ),
  conditionalRate: flag.integer(
    ROLLUP,
    'rollup.sequencertxconditionalcostratelimit',
    5000,
    'Maximum number of storage reads per second for conditional transactions',
    { min: 1 },
  ),

  sdmOptIn: flag.boolean(
    ROLLUP,
    'rollup.operator-sdm-opt-in',
    'From Lagoon on, refund gas to a transaction for storage that earlier transactions of the block warmed (admin_setSdmPostExecOptIn)',
  ),

  poolNoLocals: flag.boolean(POOL, 'txpool.nolocals', 'Apply --miner.gasprice also to transactions sent by RPC'),
  poolPriceLimit: wei(POOL, 'txpool.pricelimit', 1n, 'Minimum priority fee of a pooled transaction, in wei'),
  poolPriceBump: flag.integer(POOL, 'txpool.pricebump', 10, 'Minimum fee increase of a replacement, in percent'),
  poolGlobalSlots: flag.integer(
    POOL,
    'txpool.globalslots',
    5120,
    'Maximum number of executable transactions, in slots of 32 KiB',
    {
      min: 1,
    },
  ),
  poolAccountQueue: flag.integer(
    POOL,
    'txpool.accountqueue',
    64,
    'Maximum number of transactions of one sender behind a nonce gap',
    {
      min: 1,
    },
  ),
  poolGlobalQueue: flag.integer(
    POOL,
    'txpool.globalqueue',
    1024,
    'Maximum number of transactions behind a nonce gap, in slots',
    {
      min: 1,
    },
  ),
  poolJournal: flag.string(
    POOL,
    'txpool.journal',
    'transactions.rlp',
    'File that keeps the pool across a restart, an absolute path or a name in <datadir>/geth; empty = none',
    { placeholder: '<file>' },
  ),
  poolRejournal: flag.durationMs(POOL, 'txpool.rejournal', 3_600_000, 'Interval of writing --txpool.journal'),
  poolLifetime: flag.durationMs(
    POOL,
    'txpool.lifetime',
    3 * 3_600_000,
    'Maximum time that a transaction waits behind a nonce gap',
  ),

  minerGasPrice: wei(
    FEES,
    'miner.gasprice',
    1_000_000n,
    'Minimum priority fee of a transaction in a built block, in wei',
  ),
  minerEffectiveGasLimit: wei(
    FEES,
    'miner.effectivegaslimit',
    0n,
    'Gas limit of built blocks; 0 = as the rollup node requests',
  ),
  gpoMaxPrice: wei(FEES, 'gpo.maxprice', 500_000_000_000n, 'Maximum suggested priority fee, in wei'),
  gpoMinSuggested: wei(FEES, 'gpo.minsuggestedpriorityfee', 1_000_000n, 'Minimum suggested priority fee, in wei'),

  metrics: flag.boolean(METRICS, 'metrics', 'Serve metrics in Prometheus format'),
  metricsAddr: flag.string(METRICS, 'metrics.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  metricsPort: flag.port(METRICS, 'metrics.port', 6060, 'Port to listen on'),

  config: configFlag,
  verbosity: text(
    'Logging',
    'verbosity',
    '<0..5>',
    "geth's log level: 0 silent, 1 error, 2 warn, 3 info, 4 debug, 5 trace",
    /^[0-5]$/,
    'a number from 0 to 5',
  ),
  ...logFlags,
}
