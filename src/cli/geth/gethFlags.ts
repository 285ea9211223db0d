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
    'Keep forwarded transactions in the local pool too (default: only without --rollup.sequencerhttp)',
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
    'States that are kept: those of the last 128 blocks and from the finalized one on, or all',
  ),
  networkId: text(
    CHAIN,
    'networkid',
    '<number>',
    'Network id that net_version reports (default: the chain id)',
    /^\d{1,20}$/,
    'a whole number',
  ),

  http: flag.boolean(HTTP, 'http', 'Serve JSON-RPC over HTTP'),
  httpAddr: flag.string(HTTP, 'http.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  httpPort: flag.port(HTTP, 'http.port', 8545, 'Port to listen on'),
  httpApi: {
    ...flag.list(HTTP, 'http.api', 'Namespaces served: eth, net, web3, txpool, debug, miner, admin'),
    default: ['eth', 'net', 'web3'],
  },
  httpCorsDomain: flag.list(HTTP, 'http.corsdomain', 'Origins that browsers may call from; * stands for any text'),
  httpVhosts: {
    ...flag.list(HTTP, 'http.vhosts', 'Host names that requests may be addressed to; * = any'),
    default: ['localhost'],
  },
  ws: flag.boolean(WS, 'ws', 'Serve JSON-RPC and subscriptions over WebSockets'),
  wsAddr: flag.string(WS, 'ws.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  wsPort: flag.port(WS, 'ws.port', 8546, 'Port to listen on; may be that of --http.port'),
  wsApi: {
    ...flag.list(WS, 'ws.api', 'Namespaces served: eth, net, web3, txpool, debug, miner, admin'),
    default: ['eth', 'net', 'web3'],
  },
  wsOrigins: flag.list(
    WS,
    'ws.origins',
    "Origins whose web pages may connect, beside this machine's; * stands for any text",
  ),
  rpcGasCap: wei(HTTP, 'rpc.gascap', 50_000_000n, 'Most gas that eth_call and eth_estimateGas may use; 0 = no limit'),
  rpcEvmTimeout: flag.durationMs(
    HTTP,
    'rpc.evmtimeout',
    5000,
    'Time that a call or an estimate may take; 0 = no limit',
  ),
  rpcReadyAge: flag.durationMs(
    HTTP,
    'rpc.ready-age',
    60_000,
    'Age of the head up to which /readyz says that the client is ready',
  ),
  rpcTxFeeCap: flag.number(
    HTTP,
    'rpc.txfeecap',
    1,
    'Most ether that a sent transaction may offer as fee; 0 = no limit',
  ),
  rpcBatchLimit: flag.integer(HTTP, 'rpc.batch-request-limit', 1000, 'Calls allowed in one batch', { min: 1 }),
  rpcRangeLimit: flag.integer(HTTP, 'rpc.rangelimit', 10_000, 'Blocks that one eth_getLogs may span; 0 = no limit'),
  rpcWorkers: flag.integer(
    HTTP,
    'rpc.workers',
    0,
    'Processes that serve HTTP and WebSockets, started when they are needed; 0 = one less than there are cores',
    { min: 0 },
  ),
  rpcAllowUnprotected: flag.boolean(
    HTTP,
    'rpc.allow-unprotected-txs',
    'Take transactions without replay protection (EIP-155)',
  ),

  authAddr: flag.string(ENGINE, 'authrpc.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  authPort: flag.port(ENGINE, 'authrpc.port', 8551, 'Port to listen on'),
  authVhosts: {
    ...flag.list(ENGINE, 'authrpc.vhosts', 'Host names that requests may be addressed to; * = any'),
    default: ['localhost'],
  },
  jwtSecret: flag.optional(
    ENGINE,
    'authrpc.jwtsecret',
    'File with the shared secret; made when missing (default <datadir>/geth/jwtsecret)',
    { placeholder: '<file>' },
  ),

  sequencerHttp: flag.optional(ROLLUP, 'rollup.sequencerhttp', "Sequencer's RPC, to which transactions are forwarded", {
    placeholder: '<url>',
  }),
  enableTxPoolAdmission: admission,
  conditionalEnabled: flag.boolean(
    ROLLUP,
    'rollup.sequencertxconditionalenabled',
    'Serve eth_sendRawTransactionConditional: transactions that go into a block only where what they name holds',
  ),
  conditionalRate: flag.integer(
    ROLLUP,
    'rollup.sequencertxconditionalcostratelimit',
    5000,
    'Storage look-ups that these may take a second',
    { min: 1 },
  ),

  sdmOptIn: flag.boolean(
    ROLLUP,
    'rollup.operator-sdm-opt-in',
    'From Lagoon on, refund to transactions what earlier ones of their block have warmed (admin_setSdmPostExecOptIn)',
  ),

  poolNoLocals: flag.boolean(POOL, 'txpool.nolocals', 'Hold transactions sent by RPC to --miner.gasprice, too'),
  poolPriceLimit: wei(POOL, 'txpool.pricelimit', 1n, 'Least priority fee, in wei, of a transaction to be let in'),
  poolPriceBump: flag.integer(POOL, 'txpool.pricebump', 10, 'Percent by which a replacement must pay more'),
  poolGlobalSlots: flag.integer(POOL, 'txpool.globalslots', 5120, 'Executable transactions held, in slots of 32 KiB', {
    min: 1,
  }),
  poolAccountQueue: flag.integer(POOL, 'txpool.accountqueue', 64, 'Transactions of one sender behind a nonce gap', {
    min: 1,
  }),
  poolGlobalQueue: flag.integer(POOL, 'txpool.globalqueue', 1024, 'Transactions behind a nonce gap, in slots', {
    min: 1,
  }),
  poolJournal: flag.string(
    POOL,
    'txpool.journal',
    'transactions.rlp',
    'File that keeps the pool through a restart, in <datadir>/geth unless it is a whole path; empty = none',
    { placeholder: '<file>' },
  ),
  poolRejournal: flag.durationMs(POOL, 'txpool.rejournal', 3_600_000, 'Time from one writing of it to the next'),
  poolLifetime: flag.durationMs(POOL, 'txpool.lifetime', 3 * 3_600_000, 'Time that a transaction waits behind a gap'),

  minerGasPrice: wei(
    FEES,
    'miner.gasprice',
    1_000_000n,
    'Least priority fee, in wei, of a transaction put into a block',
  ),
  minerEffectiveGasLimit: wei(FEES, 'miner.effectivegaslimit', 0n, 'Gas limit of built blocks; 0 = as the node says'),
  gpoMaxPrice: wei(FEES, 'gpo.maxprice', 500_000_000_000n, 'Most priority fee, in wei, that is suggested'),
  gpoMinSuggested: wei(
    FEES,
    'gpo.minsuggestedpriorityfee',
    1_000_000n,
    'Least priority fee, in wei, that is suggested',
  ),

  metrics: flag.boolean(METRICS, 'metrics', 'Serve metrics in Prometheus format'),
  metricsAddr: flag.string(METRICS, 'metrics.addr', 'localhost', 'Address to listen on', { placeholder: '<host>' }),
  metricsPort: flag.port(METRICS, 'metrics.port', 6060, 'Port to listen on'),

  config: configFlag,
  verbosity: text(
    'Logging',
    'verbosity',
    '<0..5>',
    "geth's level: 0 silent, 1 error, 2 warn, 3 info, 4 debug, 5 trace",
    /^[0-5]$/,
    'a number from 0 to 5',
  ),
  ...logFlags,
}
