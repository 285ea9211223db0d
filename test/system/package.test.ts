import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { TestnetEvent } from '../../testnet/runner/events.ts'
import { complaintsIn } from '../support/testnet.ts'

const run = promisify(execFile)
const ROOT = resolve(import.meta.dirname, '../..')
const MAX_BYTES = 3_000_000

interface Manifest {
  bin: Record<string, string>
  exports: Record<string, unknown>
  dependencies: Record<string, string>
}
const manifest: Manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

/** A project with the package in it, and beside it the packages that an install without development dependencies brings. */
const project = mkdtempSync(join(tmpdir(), 'devium-package-'))
const installed = join(project, 'node_modules', 'devium')
let tarball = ''
let files: string[] = []

beforeAll(async () => {
  await run('npm', ['pack', '--pack-destination', project], { cwd: ROOT })
  tarball = join(project, readdirSync(project).find((name) => name.endsWith('.tgz')) ?? '')
  await mkdir(installed, { recursive: true })
  await run('tar', ['xzf', tarball, '-C', installed, '--strip-components=1'])
  files = readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(installed.length + 1))
  const { packages }: { packages: Record<string, { dev?: true }> } = JSON.parse(
    readFileSync(join(ROOT, 'package-lock.json'), 'utf8'),
  )
  for (const [path, { dev }] of Object.entries(packages)) {
    if (dev || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue
    await mkdir(dirname(join(project, path)), { recursive: true })
    symlinkSync(join(ROOT, path), join(project, path))
  }
  // A compiler and a packer, on a machine that may be busy.
}, 600_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

describe('the published package', () => {
  it('holds what runs, and nothing else', () => {
    const expected = [
      /^(LICENSE|README\.md|package\.json)$/,
      /^bin\/[\w-]+\.mjs$/,
      /^dashboard\/\w+\.(ts|css|html|svg)$/,
      /^dist\/package\.json$/,
      /^dist\/(src|testnet)\/.*\.(js|d\.ts|generated\.json|mjs|css|html|svg)$/,
      /^patches\/.*\.(patch|md)$/,
    ]
    expect(files.filter((file) => !expected.some((pattern) => pattern.test(file)))).toEqual([])
    expect(files.filter((file) => /\.test\.|testUtils|vectors/.test(file))).toEqual([])
    expect(statSync(tarball).size).toBeLessThan(MAX_BYTES)
  })

  it('imports only what it depends on', () => {
    const imported = new Set<string>()
    for (const file of files) {
      if (!file.endsWith('.js')) continue
      const text = readFileSync(join(installed, file), 'utf8')
      for (const [, name = ''] of text.matchAll(
        /(?:from|import\(|import) ?['"]((?:@[\w.-]+\/)?[a-z][\w.-]*)[^'"]*['"]/g,
      )) {
        imported.add(name)
      }
    }
    expect(imported.size).toBeGreaterThan(20)
    expect([...imported].filter((name) => name !== 'node' && manifest.dependencies[name] === undefined)).toEqual([])
  })

  it.each(Object.entries(manifest.bin))('%s --help', async (name, path) => {
    const { stdout } = await run(process.execPath, [join(installed, path), '--help'], { cwd: project })
    expect(stdout).toMatch(name === 'devium-testnet' ? /^Usage: devium testnet / : new RegExp(`^Usage: ${name} `))
  })

  it('exports its codecs, its p2p host and its client, with their types', async () => {
    writeFileSync(
      join(project, 'use.mts'),
      `import { createNodeClient, type Events } from 'devium/client'
import { createP2pNode, DEFAULT_P2P_OPTIONS } from 'devium/p2p'
import { parseRollupConfig, type RollupConfig } from 'devium/protocol'

const client = createNodeClient({ url: 'http://127.0.0.1:1' })
export const head = (): Promise<number> => client.request('devium_syncStatus', []).then(({ unsafe_l2 }) => unsafe_l2.number)
export const told = (event: Events['heads']): string => event.safe_l2.hash
export const read = (json: unknown): RollupConfig => parseRollupConfig(json)
console.log(typeof createP2pNode, typeof DEFAULT_P2P_OPTIONS, typeof parseRollupConfig, client.url)
`,
    )
    symlinkSync(join(ROOT, 'node_modules', '@types'), join(project, 'node_modules', '@types'))
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--types',
      'node',
    ]
    await run(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, 'use.mts'], {
      cwd: project,
    })
    const { stdout } = await run(process.execPath, ['--disable-warning=ExperimentalWarning', 'use.mts'], {
      cwd: project,
    })
    expect(stdout).toBe('function object function http://127.0.0.1:1\n')
    expect(Object.keys(manifest.exports)).toEqual(['./client', './p2p', './protocol', './package.json'])
  })
})

/** What README says that a testnet needs beside it. */
const TESTNET_NEEDS = ['@foundry-rs/anvil', '@eth-optimism/contracts-bedrock@0.17.3']

describe.runIf(process.env.DEVIUM_INSTALLED_PACKAGE === '1')(
  'in an empty folder, installed by npm from a registry',
  () => {
    it('runs its programs, and a testnet until Ctrl-C', { timeout: 1_200_000 }, async () => {
      const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
      for (const name of TESTNET_NEEDS) expect(readme).toContain(`\`${name}\``)
      const folder = mkdtempSync(join(tmpdir(), 'devium-installed-'))
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
      await run('npm', ['install', '--omit=dev', '--no-audit', '--no-fund', tarball, ...TESTNET_NEEDS], { cwd: folder })
      const { stdout } = await run('npx', ['devium--batcher', '--help'], { cwd: folder })
      expect(stdout).toMatch(/^Usage: devium--batcher /)

      const args = ['devium-testnet', '--nodes', '2', '--base-port', '0', '--json']
      // Ctrl-C reaches the whole group: npx itself passes no signal on.
      const runner = spawn('npx', args, { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
      const group = -(runner.pid ?? Number.NaN)
      const kill = () => process.kill(group, 'SIGKILL')
      process.once('exit', kill)
      const closed = once(runner, 'close')
      const told: TestnetEvent['event'][] = []
      for await (const line of createInterface({ input: runner.stdout })) {
        const { event }: TestnetEvent = JSON.parse(line)
        told.push(event)
        if (event === 'ready') process.kill(group, 'SIGINT')
      }
      await closed
      process.off('exit', kill)
      expect(told).toContain('ready')
      expect(told.at(-1)).toBe('stopped')
      expect(complaintsIn(join(folder, 'devnet', 'logs')).filter((line) => line.includes('patch'))).toEqual([])
    })
  },
)
