import { homedir } from 'node:os'
import { join } from 'node:path'
import { UsageError } from '../../lib/errors.ts'
import { configFlags, type FlagRow, flag, flagGroup } from '../shared/flags.ts'
import { logFlags } from '../shared/program.ts'

/** An amount that may exceed JavaScript's numbers: decimal digits of any length. */
function amount(unit: 'wei' | 'gas', defaultAmount: bigint, description: string): FlagRow<bigint> {
  const parse = (text: string): bigint => {
    if (!/^\d{1,78}$/.test(text)) throw new UsageError(`expected a whole number of ${unit}`)
    return BigInt(text)
  }
  return flag.custom(`<${unit}>`, parse, defaultAmount, description)
}

/** An optional text that must match a pattern. */
function text(placeholder: string, description: string, form: RegExp, expected: string): FlagRow<string | undefined> {
  const parse = (given: string): string => {
    if (!form.test(given)) throw new UsageError(`expected ${expected}`)
    return given
  }
  return flag.custom<string | undefined>(placeholder, parse, undefined, description)
}

const chainFlags = flagGroup('Chain', {
  datadir: flag.string('<dir>', join(homedir(), '.devium-geth'), 'Directory of the databases'),
  gcmode: flag.choice(
    ['full', 'archive'],
    'full',
    'Which states to keep: of the last 128 blocks and all since the finalized block, or of every block',
  ),
  networkid: text(
    '<number>',
    'Network id in the answer of net_version (default: the chain id)',
    /^\d{1,20}$/,
    'a whole number',
  ),
})

const httpFlags = flagGroup('HTTP RPC', {
  http: flag.boolean('Serve JSON-RPC over HTTP'),
  'http.addr': flag.string('<host>', 'localhost', 'Address to listen on'),
  'http.port': flag.port(8545, 'Port to listen on'),
  'http.api': flag.list('Namespaces to serve: eth, net, web3, txpool, debug, miner, admin', {
    default: ['eth', 'net', 'web3'],
  }),
  'http.corsdomain': flag.list('Origins whose web pages may call this RPC; * matches any text'),
  'http.vhosts': flag.list('Host names that a request may name; * = any', { default: ['localhost'] }),
  'rpc.gascap': amount('gas', 50_000_000n, 'Maximum gas of eth_call and eth_estimateGas; 0 = no limit'),
  'rpc.evmtimeout': flag.durationMs(
    5000,
    'Timeout of a call that executes code. A trace may name its own. Witnesses have none. 0 = the timeout of the request (60 s)',
  ),
  'rpc.ready-age': flag.durationMs(60_000, 'Maximum age of the head for /readyz to report the client as ready'),
  'rpc.txfeecap': flag.number(1, 'Maximum fee of a sent transaction, in ether; 0 = no limit'),
  'rpc.batch-request-limit': flag.integer(1000, 'Maximum number of calls in one batch', {
    min: 1,
  }),
  'rpc.rangelimit': flag.integer(
    100_000,
    'Maximum difference between the last and the first block number of eth_getLogs; 0 = no limit',
  ),
  'rpc.workers': flag.integer(
    0,
    'Maximum number of processes that serve HTTP and WebSockets. They start on demand; 0 = number of cores less one',
  ),
  'rpc.allow-unprotected-txs': flag.boolean('Accept transactions without replay protection (EIP-155)'),
})

const webSocketFlags = flagGroup('WebSocket RPC', {
  ws: flag.boolean('Serve JSON-RPC and subscriptions over WebSockets'),
  'ws.addr': flag.string('<host>', 'localhost', 'Address to listen on'),
  'ws.port': flag.port(8546, 'Port to listen on; may be the same as --http.port'),
  'ws.api': flag.list('Namespaces to serve: eth, net, web3, txpool, debug, miner, admin', {
    default: ['eth', 'net', 'web3'],
  }),
  'ws.origins': flag.list("Origins whose web pages may connect, in addition to this machine's; * matches any text"),
})

const engineFlags = flagGroup('Engine API', {
  'authrpc.addr': flag.string('<host>', 'localhost', 'Address to listen on'),
  'authrpc.port': flag.port(8551, 'Port to listen on'),
  'authrpc.vhosts': flag.list('Host names that a request may name; * = any', { default: ['localhost'] }),
  'authrpc.jwtsecret': flag.optional(
    '<file>',
    'File with the shared secret; created if missing (default <datadir>/geth/jwtsecret)',
  ),
})

const rollupFlags = flagGroup('Rollup', {
  'rollup.sequencerhttp': flag.optional('<url>', "Address of the sequencer's RPC, to which transactions are forwarded"),
  'rollup.enabletxpooladmission': {
    ...flag.boolean(
      'Also keep forwarded transactions in the local pool (default: only without --rollup.sequencerhttp)',
    ),
    default: undefined,
  } satisfies FlagRow<boolean | undefined>,
  'rollup.sequencertxconditionalenabled': flag.boolean(
    'Serve eth_sendRawTransactionConditional: a transaction enters a block only while its conditions hold',
  ),
  'rollup.sequencertxconditionalcostratelimit': flag.integer(
    5000,
    'Maximum number of storage reads per second for conditional transactions',
    { min: 1 },
  ),
  'rollup.operator-sdm-opt-in': flag.boolean(
    'From Lagoon on, refund gas to a transaction for storage that earlier transactions of the block warmed (admin_setSdmPostExecOptIn)',
  ),
})

const poolFlags = flagGroup('Transaction pool', {
  'txpool.nolocals': flag.boolean(
    'Apply --miner.gasprice. Without this flag it has no effect, because all transactions come by RPC',
  ),
  'txpool.pricelimit': amount('wei', 1n, 'Minimum priority fee of a pooled transaction, in wei'),
  'txpool.pricebump': flag.integer(10, 'Minimum fee increase of a replacement, in percent'),
  'txpool.globalslots': flag.integer(5120, 'Maximum number of executable transactions, in slots of 32 KiB', {
    min: 1,
  }),
  'txpool.accountqueue': flag.integer(64, 'Maximum number of transactions of one sender behind a nonce gap', {
    min: 1,
  }),
  'txpool.globalqueue': flag.integer(1024, 'Maximum number of transactions behind a nonce gap, in slots', {
    min: 1,
  }),
  'txpool.journal': flag.string(
    '<file>',
    'transactions.rlp',
    'File that keeps the pool across a restart, an absolute path or a name in <datadir>/geth; empty = none',
  ),
  'txpool.rejournal': flag.durationMs(3_600_000, 'Interval of writing --txpool.journal'),
  'txpool.lifetime': flag.durationMs(3 * 3_600_000, 'Maximum time that a transaction waits behind a nonce gap'),
})

const feeFlags = flagGroup('Fees', {
  'miner.gasprice': amount(
    'wei',
    1_000_000n,
    'Minimum priority fee of a transaction in a built block, in wei. Needs --txpool.nolocals',
  ),
  'miner.effectivegaslimit': amount('gas', 0n, 'Gas limit of built blocks; 0 = as the rollup node requests'),
  'gpo.maxprice': amount('wei', 500_000_000_000n, 'Maximum suggested priority fee, in wei'),
  'gpo.minsuggestedpriorityfee': amount('wei', 1_000_000n, 'Minimum suggested priority fee, in wei'),
})

const metricsFlags = flagGroup('Metrics', {
  metrics: flag.boolean('Serve metrics in Prometheus format'),
  'metrics.addr': flag.string('<host>', 'localhost', 'Address to listen on'),
  'metrics.port': flag.port(6060, 'Port to listen on'),
})

const verbosityFlags = flagGroup('Logging', {
  verbosity: text(
    '<0..5>',
    "geth's log level: 0 silent, 1 error, 2 warn, 3 info, 4 debug, 5 trace",
    /^[0-5]$/,
    'a number from 0 to 5',
  ),
})

/** op-geth's flags, as far as this client implements them, with op-geth's names and defaults. */
export const gethFlags = {
  ...chainFlags,
  ...httpFlags,
  ...webSocketFlags,
  ...engineFlags,
  ...rollupFlags,
  ...poolFlags,
  ...feeFlags,
  ...metricsFlags,
  ...configFlags,
  ...verbosityFlags,
  ...logFlags,
}
