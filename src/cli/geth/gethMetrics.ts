import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Chain } from '../../execution/chain/opChain.ts'
import type { RpcPool } from '../../execution/rpc/index.ts'
import {
  addCounts,
  type CallCounts,
  countCall,
  DURATION_BOUNDS,
  type MethodCounts,
  type Outcome,
} from '../../execution/rpcProcess/callCounts.ts'
import type { RpcProcesses } from '../../execution/rpcProcess/rpcProcesses.ts'
import type { JsonRpcError } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import { createMetricMakers } from '../../lib/metricMakers.ts'

export interface GethMetrics {
  registry: Registry
  /** The metrics as text, including the calls of the RPC processes. */
  scrape(): Promise<string>
  onCall(method: string, durationMs: number, error: JsonRpcError | undefined): void
}

export interface GethMetricsModules {
  chain: Pick<Chain, 'head' | 'safe' | 'finalized' | 'onHead' | 'onExecuted' | 'statistics'>
  pool: Pick<RpcPool, 'status'>
  rpcProcesses: Pick<RpcProcesses, 'stats' | 'report'>
  clock: Clock
}

/** Transactions of eth_sendRawTransaction. */
const SENT: readonly (readonly [name: string, help: string, outcome: Outcome])[] = [
  ['txpool_valid', 'Transactions of eth_sendRawTransaction that the pool accepted', 'success'],
  [
    'txpool_invalid',
    'Transactions of eth_sendRawTransaction refused for a reason without a metric of its own',
    'failure',
  ],
  ['txpool_known', 'Transactions refused: already known', 'already-known'],
  ['txpool_underpriced', 'Transactions refused: transaction underpriced', 'underpriced'],
  ['txpool_overflowed', 'Transactions refused: txpool is full', 'pool-full'],
]

/**
 * Metrics have geth's names where geth has the same metric (`chain_head_block`, `txpool_pending` …). Values are read at the
 * scrape.
 */
export function createGethMetrics(
  { chain, pool, rpcProcesses, clock }: GethMetricsModules,
  { version, databasePath }: { version: string; databasePath: string },
): GethMetrics {
  const registry = new Registry()
  const { gauge, counter, histogram, sampled, watched } = createMetricMakers(registry, '')
  gauge('devium_geth_info', 'Version', ['version']).set({ version }, 1)
  watched('chain_head_block', 'Number of the head block', () => chain.head().number)
  watched('chain_head_timestamp_seconds', 'Unix time of the head block', () => chain.head().timestamp)
  watched('chain_head_safe', 'Number of the safe block', () => chain.safe()?.number ?? 0)
  watched('chain_head_finalized', 'Number of the finalized block', () => chain.finalized()?.number ?? 0)
  watched('chain_head_header', 'Number of the head block', () => chain.head().number)
  watched('chain_head_receipt', 'Number of the head block', () => chain.head().number)
  watched('chain_head_age_seconds', 'Time since the timestamp of the head block', () => {
    return clock.now() / 1000 - chain.head().timestamp
  })
  const blocks = counter('chain_blocks_total', 'Blocks that became canonical')
  const gasUsed = counter('chain_gas_used_total', 'Gas used by blocks that became canonical')
  const reorgs = counter('chain_reorg_executes', 'Reorganisations')
  const dropped = counter('chain_reorg_drop', 'Blocks that a reorg removed from the canonical chain')
  const joined = counter('chain_reorg_add', 'Blocks that a reorg added to the canonical chain')
  chain.onHead(({ removed, added }) => {
    blocks.inc(added.length)
    for (const header of added) gasUsed.inc(Number(header.gasUsed))
    if (removed.length === 0) return
    reorgs.inc()
    dropped.inc(removed.length)
    joined.inc(added.length)
  })
  const inserts = histogram('chain_inserts', 'Seconds to execute and store a block that this client did not build', {
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2],
  })
  const speed = gauge(
    'chain_mgasps',
    'Million gas per second of the last executed block that this client did not build',
  )
  chain.onExecuted(({ gasUsed: gas, durationMs }) => {
    inserts.observe(durationMs / 1000)
    if (gas > 0n) speed.set(Number(gas) / 1000 / durationMs)
  })
  registry.registerMetric(diskSize(databasePath))
  const ofLevels = (name: 'readBytes' | 'writtenBytes' | 'seconds') => () =>
    chain.statistics().levels.reduce((sum, { [name]: value }) => sum + value, 0)
  watched('eth_db_chaindata_compact_input', 'Bytes read by compactions', ofLevels('readBytes'))
  watched('eth_db_chaindata_compact_output', 'Bytes written by compactions', ofLevels('writtenBytes'))
  watched('eth_db_chaindata_compact_time', 'Duration of compactions in nanoseconds', () => ofLevels('seconds')() * 1e9)
  const state = () => chain.statistics().state
  watched('hashdb_memcache_clean_miss', 'Trie nodes read from the database', () => state().nodeReads)
  watched('hashdb_memcache_clean_read', 'Bytes of trie nodes read from the database', () => state().readBytes)
  watched('state_cache_node_bytes', 'Approximate memory of cached trie nodes in bytes', () => state().nodeBytes)
  watched('state_cache_code_bytes', 'Approximate memory of cached code in bytes', () => state().codeBytes)
  watched('txpool_pending', 'Executable transactions in the pool', () => pool.status().pending)
  watched('txpool_queued', 'Transactions in the pool behind a nonce gap', () => pool.status().queued)
  watched('rpc_processes', 'Processes that serve HTTP and WebSockets', () => rpcProcesses.stats().processes)
  watched('rpc_connections', 'Open connections of RPC processes', () => rpcProcesses.stats().connections)
  watched('rpc_processes_broken', 'RPC processes that ended unexpectedly', () => rpcProcesses.stats().broken)
  const running = gauge('rpc_calls_running', 'Calls that are executing code in RPC processes')
  const waiting = gauge('rpc_calls_waiting', 'Calls that wait until fewer calls are executing code')
  const webSockets = gauge('rpc_websockets', 'Open WebSocket connections')
  const builds = histogram('miner_build_seconds', 'Seconds to seal a block and return it', {
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2],
  })
  /** The calls of all processes. */
  const calls: CallCounts = {}
  for (const [name, help, outcome] of SENT) {
    sampled('counter', name, help, [], () => [{ value: calls.eth_sendRawTransaction?.outcomes[outcome] ?? 0 }])
  }
  const succeeded = () => Object.values(calls).reduce((sum, { outcomes: { success = 0 } }) => sum + success, 0)
  const failed = () => Object.values(calls).reduce((sum, counts) => sum + failuresOf(counts), 0)
  sampled('counter', 'rpc_requests', 'RPC calls', [], () => [{ value: succeeded() + failed() }])
  sampled('counter', 'rpc_success', 'RPC calls answered with a result', [], () => [{ value: succeeded() }])
  sampled('counter', 'rpc_failure', 'RPC calls answered with an error', [], () => [{ value: failed() }])
  sampled('counter', 'rpc_failure_total', 'RPC calls answered with an error', ['method'], () =>
    Object.entries(calls)
      .map(([method, counts]) => ({ labels: { method }, value: failuresOf(counts) }))
      .filter(({ value }) => value > 0),
  )
  new CallDurations(calls, registry)
  collectDefaultMetrics({ register: registry })
  return {
    registry,
    onCall(method, durationMs, error) {
      if (error === undefined && method.startsWith('engine_getPayloadV')) builds.observe(durationMs / 1000)
      countCall(calls, method, durationMs, error)
    },
    async scrape() {
      const report = await rpcProcesses.report()
      addCounts(calls, report.calls)
      running.set(report.running)
      waiting.set(report.waiting)
      webSockets.set(report.webSockets)
      return registry.metrics()
    },
  }
}

function failuresOf({ outcomes }: MethodCounts): number {
  return Object.entries(outcomes).reduce((sum, [outcome, calls]) => (outcome === 'success' ? sum : sum + calls), 0)
}

/** A histogram of counts. prom-client's own takes only single durations. */
class CallDurations extends Histogram<'method'> {
  private readonly calls: CallCounts

  constructor(calls: CallCounts, registry: Registry) {
    super({ ...DURATIONS, labelNames: ['method'], registers: [registry] })
    this.calls = calls
  }

  /** The registry and `get` read the values with this method, which prom-client's types omit. */
  async getForPromString() {
    const values = Object.entries(this.calls).flatMap(([method, { seconds, durations }]) => {
      let count = 0
      const sample = (end: string, value: number, labels = {}) => {
        return { metricName: DURATIONS.name + end, sharedLabels: { method }, labels, value }
      }
      const buckets = durations.map((longer, place) => {
        count += longer
        return sample('_bucket', count, { le: DURATION_BOUNDS[place] ?? '+Inf' })
      })
      return [...buckets, sample('_sum', seconds), sample('_count', count)]
    })
    return { ...DURATIONS, type: 'histogram', aggregator: 'sum', values }
  }
}

const DURATIONS = { name: 'rpc_duration_seconds', help: 'Time to answer an RPC call' }

/** Named as in geth. The size is 0 if the path does not exist. */
function diskSize(path: string): Gauge {
  return new Gauge({
    name: 'eth_db_chaindata_disk_size',
    help: 'Size of the chain database on disk in bytes',
    registers: [],
    async collect() {
      const names = await readdir(path).catch(() => [])
      // The database may delete a table while the sizes are read.
      const sizes = await Promise.all(
        names.map((name) =>
          stat(join(path, name)).then(
            ({ size }) => size,
            () => 0,
          ),
        ),
      )
      this.set(sizes.reduce((sum, size) => sum + size, 0))
    },
  })
}
