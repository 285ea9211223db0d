// The programs need Node 24, in a checkout to run TypeScript by type stripping; the machine's own Node may be older. This
// launcher (plain JavaScript, no imports beyond node:) finds the Node 24 that is installed with the package.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { installedNode } from './installedNode.mjs'

/**
 * V8 lets the young generation grow to 64 MB and seldom gives any back; a node needs a few MB of it, the rollup node, which
 * mostly waits, half of what the others do.
 */
const FLAGS = {
  // Node still calls experimental what takes the types out of the page's files.
  rollupNode: ['--max-semi-space-size=2', '--disable-warning=ExperimentalWarning'],
}
const USUAL_FLAGS = ['--max-semi-space-size=4']
/**
 * With two heaps of malloc in place of one for each thread, less is left lying about between what is in use. Large pieces are
 * given back to the system one by one: malloc by itself takes ever larger ones for small after it has seen one, and keeps them.
 */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '2', MALLOC_MMAP_THRESHOLD_: '131072', MALLOC_TRIM_THRESHOLD_: '131072' }
/** Of the execution client: what is read of a socket comes in pieces of 64 kB, which would leave holes in the same way. */
const GETH_ENVIRONMENT = { MALLOC_MMAP_THRESHOLD_: '65536' }

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/**
 * Runs src/cli/<entry>.ts, or testnet/main.ts, in this process or in a newer Node; in the published package what stands for it
 * below dist/.
 */
export async function launch(entry) {
  const path = entry === 'testnet' ? 'testnet/main' : `src/cli/${entry}`
  const source = join(root, `${path}.ts`)
  const script = existsSync(source) ? source : join(root, 'dist', `${path}.js`)
  const isProgram = entry !== 'devium' && entry !== 'testnet'
  const flags = FLAGS[entry] ?? USUAL_FLAGS
  const environment = entry === 'geth' ? { ...ENVIRONMENT, ...GETH_ENVIRONMENT } : ENVIRONMENT
  if (installedNode === process.execPath) {
    if (isProgram) startAgainLighter(flags, environment)
    nodeModule.enableCompileCache?.()
    process.argv[1] = script
    await import(pathToFileURL(script).href)
    return
  }
  const exec = fileURLToPath(new URL('./exec.mjs', import.meta.url))
  const child = spawn(installedNode, [...(isProgram ? flags : []), exec, entry, ...process.argv.slice(2)], {
    // The last one is the leash: the system closes it when this launcher ends, in whatever way.
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
    env: isProgram ? { ...environment, ...process.env } : process.env,
  })
  // The terminal sends Ctrl-C to the whole group; a signal sent to this process alone is passed on.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(name, () => {
      if (name !== 'SIGINT' || !process.stdin.isTTY) child.kill(name)
    })
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]))
}

/** In the same process, with the flags: they count from the start of V8 and malloc only. */
function startAgainLighter(flags, environment) {
  const given = [...process.execArgv, process.env.NODE_OPTIONS ?? '']
  if (given.some((text) => text.includes('--max-semi-space-size'))) return
  // Windows cannot do that, nor would a channel to the parent outlive it.
  if (process.execve === undefined || process.platform === 'win32' || process.channel != null) return
  const args = [process.execPath, ...flags, ...process.execArgv, ...process.argv.slice(1)]
  process.execve(process.execPath, args, { ...environment, ...process.env })
}
