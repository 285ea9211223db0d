import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import type { Chain } from '../../execution/chain/opChain.ts'
import type { RpcPool } from '../../execution/rpc/index.ts'
import type { RpcProcesses } from '../../execution/rpcProcess/rpcProcesses.ts'
import { POOL_ERROR_TEXTS } from '../../execution/txPool/index.ts'
import { JsonRpcError, RPC_METHOD_NOT_FOUND } from '../../jsonRpc/types.ts'
import type { Clock } from '../../lib/clock.ts'
import { createMetricMakers } from '../../lib/metricMakers.ts'

export interface GethMetrics {
  registry: Registry
  /** The metrics as text, including the counters of the RPC processes. */
  scrape(): Promise<string>
  onCall(method: string, durationMs: number, error: JsonRpcError | undefined): void
}

export interface GethMetricsModules {
  chain: Pick<Chain, 'head' | 'safe' | 'finalized' | 'onHead' | 'onExecuted' | 'statistics'>
  pool: Pick<RpcPool, 'status'>
  rpcProcesses: Pick<RpcProcesses, 'stats' | 'report'>
  clock: Clock
}

/** Pool errors that geth counts separately, found by their text. */
const REFUSALS: readonly (readonly [name: string, text: string])[] = [
  ['txpool_known', POOL_ERROR_TEXTS['already-known']],
  ['txpool_underpriced', POOL_ERROR_TEXTS.underpriced],
  ['txpool_overflowed', POOL_ERROR_TEXTS['pool-full']],
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
  const { gauge, counter, histogram, watched } = createMetricMakers(registry, '')
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
  const valid = counter('txpool_valid', 'Transactions sent by RPC that the pool accepted')
  const invalid = counter(
    'txpool_invalid',
    'Transactions sent by RPC that were refused for a reason without a metric of its own',
  )
  const refusals = new Map(REFUSALS.map(([name, text]) => [text, counter(name, `Transactions refused: ${text}`)]))
  watched('rpc_processes', 'Processes that serve HTTP and WebSockets', () => rpcProcesses.stats().processes)
  watched('rpc_connections', 'Open connections of RPC processes', () => rpcProcesses.stats().connections)
  watched('rpc_processes_broken', 'RPC processes that ended unexpectedly', () => rpcProcesses.stats().broken)
  const running = gauge('rpc_calls_running', 'Calls that are executing code in RPC processes')
  const waiting = gauge('rpc_calls_waiting', 'Calls that wait until fewer calls are executing code')
  const webSockets = gauge('rpc_websockets', 'Open WebSocket connections')
  const builds = histogram('miner_build_seconds', 'Seconds to seal a block and return it', {
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2],
  })
  const requests = counter('rpc_requests', 'RPC calls')
  const successes = counter('rpc_success', 'RPC calls answered with a result')
  const failed = counter('rpc_failure', 'RPC calls answered with an error')
  const countSent = (error: JsonRpcError | undefined): void => {
    const [, refusal = invalid] = [...refusals].find(([text]) => error?.message.startsWith(text)) ?? []
    const counted = error === undefined ? valid : refusal
    counted.inc()
  }
  const durations = histogram('rpc_duration_seconds', 'Time to answer an RPC call', {
    labelNames: ['method'],
    // From a cached result to an executed block.
    buckets: [0.0005, 0.002, 0.01, 0.05, 0.2, 1, 5],
  })
  const failures = counter('rpc_failure_total', 'RPC calls answered with an error', ['method'])
  collectDefaultMetrics({ register: registry })
  const onCall = (method: string, durationMs: number, error: JsonRpcError | undefined): void => {
    if (error === undefined && method.startsWith('engine_getPayloadV')) builds.observe(durationMs / 1000)
    requests.inc()
    if (error === undefined) successes.inc()
    else failed.inc()
    if (method === 'eth_sendRawTransaction') countSent(error)
    // Unknown method names must not become labels, because callers choose them.
    const label = error?.rpcCode === RPC_METHOD_NOT_FOUND ? 'unknown' : method
    durations.observe({ method: label }, durationMs / 1000)
    if (error !== undefined) failures.inc({ method: label })
  }
  return {
    registry,
    onCall,
    async scrape() {
      const reports = await rpcProcesses.report()
      for (const { calls } of reports) {
        for (const { method, durationMs, error } of calls) {
          onCall(method, durationMs, error && new JsonRpcError(error.code, error.message))
        }
      }
      const sum = (name: 'running' | 'waiting' | 'webSockets') => reports.reduce((all, { [name]: n }) => all + n, 0)
      running.set(sum('running'))
      waiting.set(sum('waiting'))
      webSockets.set(sum('webSockets'))
      return registry.metrics()
    },
  }
}

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
