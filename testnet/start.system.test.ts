import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

const ROOT = resolve(import.meta.dirname, '..')
const BINS = ['devium', 'devium--batcher', 'devium-batch-submitter', 'devium-geth', 'devium-testnet']
const TESTNET = ['testnet/start.mjs']
const STARTS = [TESTNET, ...BINS.map((name) => [`bin/${name}.mjs`])]
const TESTS = ['node_modules/vitest/vitest.mjs', 'run', 'testnet/forks.test.ts']
const OLDER_NODE = `data:text/javascript,${encodeURIComponent(
  "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.20.2' } })",
)}`

/** A clone, with the packages that `install` creates. */
function checkout(install?: (nodeModules: string) => void): string {
  const folder = mkdtempSync(join(tmpdir(), 'devium-start-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['bin', 'testnet', 'src', 'package.json', 'vitest.config.ts']) {
    cpSync(join(ROOT, name), join(folder, name), { recursive: true })
  }
  install?.(join(folder, 'node_modules'))
  return folder
}

/** The packages after `npm ci --ignore-scripts`: the package `node` has no binary. */
function withoutScripts(nodeModules: string): void {
  mkdirSync(nodeModules)
  for (const name of readdirSync(join(ROOT, 'node_modules'))) {
    if (name !== 'node') symlinkSync(join(ROOT, 'node_modules', name), join(nodeModules, name))
  }
  cpSync(join(ROOT, 'node_modules/node/package.json'), join(nodeModules, 'node/package.json'))
}

function run(folder: string, args: readonly string[], nodeArgs: readonly string[] = ['--import', OLDER_NODE]) {
  return spawnSync(process.execPath, [...nodeArgs, ...args], { cwd: folder, encoding: 'utf8' })
}

describe('one line names the command to run', () => {
  it('in a checkout where nothing is installed', () => {
    const folder = checkout()
    for (const args of STARTS) {
      const stderr = `devium: nothing is installed here yet: run "npm ci" first, in ${folder}\n`
      expect(run(folder, args), args[0]).toMatchObject({ status: 1, stderr })
    }
  })

  it('where the package of Node was removed', () => {
    const folder = checkout((nodeModules) => {
      withoutScripts(nodeModules)
      rmSync(join(nodeModules, 'node'), { recursive: true })
    })
    for (const args of STARTS) {
      const stderr = `devium: Node 24 or newer is needed, this is ${process.version}: run "npm ci" in ${folder}\n`
      expect(run(folder, args), args[0]).toMatchObject({ status: 1, stderr })
    }
    // As in the image, whose own Node is used.
    expect(spawnSync(process.execPath, ['bin/devium.mjs', '--version'], { cwd: folder })).toMatchObject({ status: 0 })
  })

  it('after an install without scripts', () => {
    const folder = checkout(withoutScripts)
    const refusal = { status: 1, stderr: `devium: the install scripts have not run: run "npm rebuild" in ${folder}\n` }
    for (const args of [...STARTS, TESTS]) expect(run(folder, args), args[0]).toMatchObject(refusal)
    // Even with a usable Node, the libraries lack their patches.
    for (const args of [TESTNET, TESTS]) expect(run(folder, args, []), args[0]).toMatchObject(refusal)
  })
})
