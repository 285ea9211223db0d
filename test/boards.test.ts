import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { describe, expect, it } from 'vitest'
import { createBatcherMetrics } from '../src/batcher/submitter/metrics.ts'
import { createTxManagerMetrics } from '../src/batcher/txmgr/metrics.ts'
import { createGethMetrics } from '../src/cli/geth/gethMetrics.ts'
import { createRpcClientMetrics } from '../src/jsonRpc/clientMetrics.ts'
import { ManualClock } from '../src/lib/clock.ts'
import { createP2pMetrics } from '../src/p2p/metrics.ts'
import { createDerivationMetrics } from '../src/rollup/node/derivationMetrics.ts'
import { createNodeMetrics } from '../src/rollup/node/index.ts'
import { createRpcMetrics } from '../src/rpc/index.ts'
import { commandExists, promQueries, seriesIn } from './support/prometheus.ts'

const FOLDER = resolve(import.meta.dirname, '../docs/grafana')

/** The registries of the three programs, as they make them; nothing is read from those who would be asked. */
function registries(): Registry[] {
  const node = new Registry()
  collectDefaultMetrics({ register: node })
  createRpcClientMetrics(node, 'op_node_default')
  createRpcMetrics(node, 'op_node_default')
  const p2p = createP2pMetrics(node)
  const none = () => 0
  p2p.watch({ connections: none, streams: none, bandwidth: () => ({ in: 0, out: 0 }) })
  p2p.watchMesh(none)
  p2p.watchHealth({ states: () => ({}), lastBlockS: none })
  p2p.watchDiscovery({ tableSize: none, sessions: none })
  const ofNode = createNodeMetrics(node)
  ofNode.watchSequencer(() => true)
  ofNode.watchHealth(() => ({}))
  createDerivationMetrics(node)
  const batcher = new Registry()
  createBatcherMetrics(batcher).balance(0)
  createTxManagerMetrics(batcher)
  const neverCalled = () => {
    throw new Error('not asked')
  }
  const never = () => () => {}
  const labels = { head: neverCalled, safe: neverCalled, finalized: neverCalled }
  const chain = { ...labels, statistics: neverCalled, onHead: never, onExecuted: never }
  const modules = {
    chain,
    pool: { status: neverCalled },
    rpcProcesses: { stats: neverCalled, report: neverCalled },
    clock: new ManualClock(),
  }
  return [node, batcher, createGethMetrics(modules, { version: '', databasePath: '' }).registry]
}

/** Names of series: those of a histogram or summary have ends. */
function seriesNames(): Map<string, readonly string[]> {
  const names = new Map<string, readonly string[]>()
  for (const registry of registries()) {
    for (const metric of registry.getMetricsAsArray()) {
      const labels = 'labelNames' in metric && Array.isArray(metric.labelNames) ? metric.labelNames.map(String) : []
      for (const end of ['', '_bucket', '_sum', '_count']) names.set(`${metric.name}${end}`, [...labels, 'le'])
    }
  }
  return names
}

describe('docs/grafana', () => {
  const known = seriesNames()
  /** That Prometheus itself gives to every target. */
  const own = ['job', 'instance']

  it.each(readdirSync(FOLDER))('%s names only series and labels that the programs have', (file) => {
    const queries = promQueries(readFileSync(join(FOLDER, file), 'utf8'), file)
    expect(queries.length).toBeGreaterThan(10)
    for (const query of queries) {
      for (const { name, labels } of seriesIn(query)) {
        expect([...known.keys()], `${file}: ${query}`).toContain(name)
        for (const [, label = ''] of labels.matchAll(/(\w+)(?:=|!)/g)) {
          expect([...(known.get(name) ?? []), ...own], `${file}: ${query}`).toContain(label)
        }
      }
    }
  })

  it.skipIf(!commandExists('promtool'))('promtool accepts the rules (skipped without promtool)', async () => {
    const { stdout } = await promisify(execFile)('promtool', ['check', 'rules', join(FOLDER, 'alerts.yml')])
    expect(stdout).toMatch(/SUCCESS: \d+ rules found/)
  })
})
