import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import type { TestnetEvent } from '../../testnet/runner/events.ts'
import { libraryExamples } from '../support/libraryExamples.ts'
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

/** A project with the package, and the packages that an install without development dependencies adds. */
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
  // Time for the compiler and npm pack on a busy machine.
}, 600_000)
afterAll(() => rmSync(project, { recursive: true, force: true }))

describe('the published package', () => {
  it('contains the runtime files, and nothing else', () => {
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

  it('imports only its dependencies', () => {
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
    const shown: Record<string, string> = { 'devium-testnet': 'devium testnet', 'devium-node': 'devium--batcher' }
    expect(stdout).toMatch(new RegExp(`^Usage: ${shown[name] ?? name} `))
  })

  it('exports its client, its p2p host and its codecs, with their types: the documented examples compile and run', async () => {
    const examples = libraryExamples()
    expect([...examples.keys()].map((entry) => `./${entry}`)).toEqual(['./client', './p2p', './protocol'])
    for (const [entry, code] of examples) writeFileSync(join(project, `${entry}.mts`), code)
    writeFileSync(join(project, 'rollup.json'), JSON.stringify(loadRecordedRpc('holocene-span-brotli-calldata').rollup))
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
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    await run(process.execPath, [tsc, ...options, ...[...examples.keys()].map((entry) => `${entry}.mts`)], {
      cwd: project,
    })
    // Another test runs the client's example on a testnet.
    const printed = async (entry: string) =>
      (await run(process.execPath, ['--disable-warning=ExperimentalWarning', `${entry}.mts`], { cwd: project })).stdout
    expect(await printed('p2p')).toMatch(/^listens on \/ip4\/127\.0\.0\.1\/tcp\/\d+\/p2p\/16Uiu2\w+\n$/)
    expect(await printed('protocol')).toBe('a block of 1700000000 on L1 block 7\n')
    expect(Object.keys(manifest.exports)).toEqual(['./client', './p2p', './protocol', './package.json'])
  })
})

/** The packages that a testnet needs in addition, according to README. */
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
      // Ctrl-C signals the whole group, because npx passes no signal on.
      const runner = spawn('npx', args, { cwd: folder, detached: true, stdio: ['ignore', 'pipe', 'inherit'] })
      const group = -(runner.pid ?? Number.NaN)
      const kill = () => process.kill(group, 'SIGKILL')
      process.once('exit', kill)
      const closed = once(runner, 'close')
      const emitted: TestnetEvent['event'][] = []
      for await (const line of createInterface({ input: runner.stdout })) {
        const { event }: TestnetEvent = JSON.parse(line)
        emitted.push(event)
        if (event === 'ready') process.kill(group, 'SIGINT')
      }
      await closed
      process.off('exit', kill)
      expect(emitted).toContain('ready')
      expect(emitted.at(-1)).toBe('stopped')
      expect(complaintsIn(join(folder, 'devnet', 'logs')).filter((line) => line.includes('patch'))).toEqual([])
    })
  },
)
