import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { claimPort } from './programs.ts'

export function commandExists(name: string): boolean {
  return spawnSync(name, ['--version'], { stdio: 'ignore' }).error === undefined
}

/** PromQL of a dashboard or of alert rules. */
export function promQueries(text: string, file: string): string[] {
  if (file.endsWith('.yml')) return [...text.matchAll(/^\s+expr: (.*)$/gm)].map(([, query = '']) => query)
  const { panels }: { panels: { targets?: { expr: string }[] }[] } = JSON.parse(text)
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
}

/** Series of a query that our programs, or their Node, must have. `labels` is the text in the braces. */
export function seriesIn(query: string): { name: string; labels: string }[] {
  return [...query.matchAll(/\b([a-z]\w+_\w+)(?:\{([^}]*)\})?/g)]
    .map(([, name = '', labels = '']) => ({ name, labels }))
    .filter(({ name }) => /^(op_|chain_|eth_|txpool_|rpc_(?!role)|miner_|process_|nodejs_|devium_)/.test(name))
}

/** Fills Grafana's variables as for "All". */
export function fillVariables(query: string): string {
  return query.replaceAll('$__rate_interval', '1m').replaceAll('$job', '.*').replaceAll('$instance', '.*')
}

export interface RunningPrometheus {
  /** `path` below /api/v1/. */
  query(path: string): Promise<unknown>
  stop(): Promise<void>
}

/** Starts Prometheus, which scrapes each job's targets (host:port) every second. */
export async function startPrometheus(
  jobs: Readonly<Record<string, readonly string[]>>,
  rules: string,
): Promise<RunningPrometheus> {
  const dir = mkdtempSync(join(tmpdir(), 'devium-prometheus-'))
  const port = await claimPort()
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [rules],
    scrape_configs: Object.entries(jobs).map(([job_name, targets]) => ({ job_name, static_configs: [{ targets }] })),
  }
  // JSON is valid YAML.
  writeFileSync(join(dir, 'prometheus.yml'), JSON.stringify(config))
  const args = [
    `--config.file=${dir}/prometheus.yml`,
    `--storage.tsdb.path=${dir}/data`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]
  const child: ChildProcess = spawn('prometheus', args, { stdio: 'ignore' })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const exited = new Promise((resolve) => child.once('exit', resolve))
  return {
    query: async (path) => (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json(),
    async stop() {
      kill()
      await exited
      process.off('exit', kill)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
