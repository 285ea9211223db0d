// The programs need Node 24, in a checkout also to run TypeScript by type stripping. The machine's own Node may be older. This
// launcher (plain JavaScript, only node: imports) finds the Node 24 installed with the package.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { installedNode } from './installedNode.mjs'

const USUAL_FLAGS = ['--max-semi-space-size=4']
/** Node does not start with a flag that its V8 lacks. These flags need V8 13 (Node 24). */
const isV8Known = installedNode !== process.execPath || process.versions.v8.startsWith('13.')
const v8Flags = (...flags) => (isV8Known ? flags : [])
/**
 * Settings of V8 and malloc, with the benchmark that shows a gain of a tenth or more. A setting without such a row is removed.
 *
 * | setting | benchmark | with, and without |
 * |---|---|---|
 * | --max-semi-space-size | bench/memory.ts | 150 and 103 MB a rollup node and a geth, 176 and 116 |
 * | --heap-growing-percent (rollup node) | bench:p2p, 50 hosts, 1 kB | 73 and 96 ms of processor time a block |
 * | --heap-growing-percent (RPC processes of geth) | bench:attack | memory grew by 165 MB, 293 |
 * | --max-semi-space-size=16 (RPC processes of geth) | bench:geth-rpc, eth_getLogs, 2 processes | 138 and 105 answers a second |
 * | --heap-growing-percent (geth) | bench:attack | memory grew by 93 to 112 MB, 145 to 153 |
 * | --external-memory-accounted-in-global-limit | bench:p2p, 50 hosts, 100 kB | 250 and 430 ms of processor time a block |
 * | MALLOC_ARENA_MAX, MALLOC_MMAP_THRESHOLD_, MALLOC_TRIM_THRESHOLD_ | bench:attack | by 93 to 112 MB, 144 to 147 |
 */
const FLAGS = {
  // Without the external-memory flag, V8 collects all garbage after each 64 MB of buffers. Node marks type stripping, which
  // serves the page's files, as experimental.
  rollupNode: [
    '--max-semi-space-size=2',
    ...v8Flags('--heap-growing-percent=100', '--external-memory-accounted-in-global-limit'),
    '--disable-warning=ExperimentalWarning',
  ],
  geth: [...USUAL_FLAGS, ...v8Flags('--heap-growing-percent=20')],
}
/** Fewer malloc heaps, which return large blocks to the system. Work processes inherit these settings. */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '65536', MALLOC_TRIM_THRESHOLD_: '131072' }

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Runs src/cli/<entry>.ts or testnet/main.ts, in this process or in a newer Node. In the published package it runs the compiled
 * file below dist/.
 */
export async function launch(entry) {
  const path = entry === 'testnet' ? 'testnet/main' : `src/cli/${entry}`
  const source = join(root, `${path}.ts`)
  const script = existsSync(source) ? source : join(root, 'dist', `${path}.js`)
  const isProgram = entry !== 'devium' && entry !== 'testnet'
  const flags = FLAGS[entry] ?? USUAL_FLAGS
  if (installedNode === process.execPath) {
    if (isProgram) startAgainLighter(flags)
    nodeModule.enableCompileCache?.()
    process.argv[1] = script
    await import(pathToFileURL(script).href)
    return
  }
  const exec = fileURLToPath(new URL('./exec.mjs', import.meta.url))
  const child = spawn(installedNode, [...(isProgram ? flags : []), exec, entry, ...process.argv.slice(2)], {
    // The last pipe is the leash. The system closes it when this launcher ends.
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: isProgram ? { ...ENVIRONMENT, ...process.env } : process.env,
  })
  // The terminal sends Ctrl-C to the whole group. A signal to this process alone is passed on.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(name, () => {
      if (name !== 'SIGINT' || !process.stdin.isTTY) child.kill(name)
    })
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

/** Replaces this process by one with the flags, because V8 and malloc read them only at the start. */
function startAgainLighter(flags) {
  if (Object.keys(ENVIRONMENT).every((name) => process.env[name] !== undefined)) return
  // Windows has no exec, and a channel to the parent does not survive it.
  if (process.execve === undefined || process.platform === 'win32' || process.channel != null) return
  const args = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, args, { ...ENVIRONMENT, ...process.env })
}
