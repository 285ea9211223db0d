import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { WAIT_LIMIT_MS } from '../../src/lib/testUtils/until.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'devium-bad-input-'))
let testnet: RunningTestnet

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs a program to its end. A program that does not end is killed, and its exit code is null. */
function run(script: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(root, script), ...args], {
      cwd: directory,
      env: { ...process.env, ...env },
    })
    const ended: Ended = { code: null, stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => {
      ended.stdout += chunk
    })
    child.stderr.on('data', (chunk) => {
      ended.stderr += chunk
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), WAIT_LIMIT_MS)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ ...ended, code })
    })
  })
}

/** A directory with a kept chain, of which one file is written. */
function keptChain(folder: string, name: string, text: string): { dir: string; path: string } {
  const dir = join(directory, `kept-${folder}`)
  const path = join(dir, folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  const chain = { l1ChainId: 900, l2ChainId: 901, blockTime: 1, l1BlockTime: 2, genesisTime: 1, forks: {} }
  writeFileSync(join(dir, 'testnet.json'), JSON.stringify({ version: 1, complete: true, chain }))
  return { dir, path }
}

const ROLLUP_NODE = 'bin/devium--batcher.mjs'
const GETH = 'bin/devium-geth.mjs'
const SUBMITTER = 'bin/devium-batch-submitter.mjs'
const TESTNET = 'testnet/main.ts'

/** Expects exit code 1 and one line on stderr that matches. */
function expectRefusal({ code, stderr }: Ended, pattern: RegExp): void {
  expect(stderr).toMatch(pattern)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(code).toBe(1)
}

/** A changed copy of the testnet's rollup.json. */
function changedRollupConfig(change: (config: ReturnType<typeof JSON.parse>) => void): string {
  const config = JSON.parse(readFileSync(join(testnet.joinDir, 'rollup.json'), 'utf8'))
  change(config)
  const path = join(directory, `rollup-${Math.random().toString(36).slice(2)}.json`)
  writeFileSync(path, JSON.stringify(config))
  return path
}

/** Flags of a second rollup node on the engine of the testnet's only node. It must end before it changes anything. */
function rollupNodeArgs(changes: Record<string, string>): string[] {
  const [node] = testnet.nodes
  const flags: Record<string, string> = {
    l1: testnet.l1.rpc,
    l2: node?.engineRpc ?? '',
    'l2.jwt-secret': node?.jwt ?? '',
    'rollup.config': join(testnet.joinDir, 'rollup.json'),
    'rollup.l1-chain-config': join(testnet.joinDir, 'l1.json'),
    'rpc.port': '0',
    'p2p.listen.tcp': '0',
    'p2p.priv.path': join(directory, 'key.txt'),
    'p2p.peerstore.path': 'memory',
    ...changes,
  }
  return [
    '--l1.beacon.ignore',
    '--p2p.no-discovery',
    ...Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
  ]
}

beforeAll(async () => {
  testnet = await startTestnet({ nodes: 1, dir: join(directory, 'net') })
})
afterAll(async () => {
  await testnet?.stop()
  rmSync(directory, { recursive: true, force: true })
})
// The testnet still runs.
afterEach(() => {
  expect(testnet.runner.exitCode).toBeNull()
  expect(testnet.complaints().slice(0, 10)).toEqual([])
})

describe('an unknown flag', () => {
  for (const script of [ROLLUP_NODE, GETH, SUBMITTER, TESTNET]) {
    it(`ends ${script}`, async () => {
      const ended = await run(script, ['--no-such-flag'])
      expect(ended.stderr).toMatch(/unknown option '--no-such-flag'/)
      expect(ended.code).toBe(1)
      expect(existsSync(join(directory, 'devnet'))).toBe(false)
    })
  }
})

describe('the rollup node refuses', () => {
  it('a JWT secret that the engine does not have, created because its file was missing', async () => {
    const missing = join(directory, 'missing', 'jwt.txt')
    const ended = await run(ROLLUP_NODE, rollupNodeArgs({ 'l2.jwt-secret': missing }))
    expectRefusal(ended, /cannot reach the L2 engine \(--l2\)/)
    expect(ended.stdout + ended.stderr).toContain('Created the JWT secret file')
    expect(statSync(missing).mode & 0o777).toBe(0o600)
  })

  it('another L2 chain id than its rollup config names', async () => {
    const config = changedRollupConfig((changed) => {
      changed.l2_chain_id = 902
    })
    expectRefusal(
      await run(ROLLUP_NODE, rollupNodeArgs({ 'rollup.config': config })),
      /incorrect L2 RPC chain id 901, expected 902/,
    )
  })

  it('an engine with another genesis', async () => {
    const config = changedRollupConfig((changed) => {
      changed.genesis.l2.hash = `0x${'12'.repeat(32)}`
    })
    expectRefusal(
      await run(ROLLUP_NODE, rollupNodeArgs({ 'rollup.config': config })),
      /incorrect L2 genesis block hash 0x[0-9a-f]{64}, expected 0x1212/,
    )
  })

  it('an L1 that does not answer', async () => {
    expectRefusal(
      await run(ROLLUP_NODE, rollupNodeArgs({ l1: 'http://127.0.0.1:1' })),
      /cannot reach L1 \(--l1\): .*127.0.0.1:1/,
    )
  })

  it('a port that is in use', async () => {
    const port = new URL(testnet.l1.rpc).port
    expectRefusal(
      await run(ROLLUP_NODE, rollupNodeArgs({ 'rpc.port': port })),
      new RegExp(`--rpc.port.*${port}.*in use|${port}.*in use`),
    )
  })
})

describe('the execution client refuses', () => {
  it('a genesis file that is not there', async () => {
    expectRefusal(
      await run(GETH, ['init', `--datadir=${join(directory, 'none')}`, 'no-genesis.json']),
      /no-genesis.json cannot be read/,
    )
  })

  it('a data directory of another genesis', async () => {
    const genesis = JSON.parse(readFileSync(join(testnet.joinDir, 'genesis.json'), 'utf8'))
    genesis.timestamp = '0x1'
    genesis.alloc = {}
    const path = join(directory, 'other-genesis.json')
    writeFileSync(path, JSON.stringify(genesis))
    const datadir = join(directory, 'geth')
    const first = await run(GETH, ['init', `--datadir=${datadir}`, path])
    expect(first.code, first.stderr).toBe(0)
    genesis.timestamp = '0x2'
    writeFileSync(path, JSON.stringify(genesis))
    expectRefusal(await run(GETH, ['init', `--datadir=${datadir}`, path]), /genesis/)
  })
})

describe('the batch submitter refuses', () => {
  it('a start without endpoints', async () => {
    expectRefusal(await run(SUBMITTER, []), /empty L1 RPC URL/)
  })

  it('an L1 that does not answer, without showing its password', async () => {
    const L1 = 'http://user:pass@127.0.0.1:1'
    const ended = await run(SUBMITTER, [
      ...[`--l1-eth-rpc=${L1}`, `--l2-eth-rpc=${testnet.nodes[0]?.ethRpc}`],
      ...[`--rollup-rpc=${testnet.nodes[0]?.rollupRpc}`, `--private-key=${'11'.repeat(32)}`],
    ])
    expectRefusal(ended, /cannot reach the L1 at http:\/\/127.0.0.1:1 \(--l1-eth-rpc\): .*ECONNREFUSED/)
    expect(ended.stdout.match(/Waiting for the L1 at http:\/\/127.0.0.1:1 to answer/g)).toHaveLength(1)
    expect(ended.stdout).not.toContain('pass')
  })
})

describe('the testnet runner refuses', () => {
  it('ports that are in use, and names the first', async () => {
    const port = new URL(testnet.l1.rpc).port
    const dir = join(directory, 'second')
    expectRefusal(
      await run(TESTNET, ['--base-port', port, '--dir', dir]),
      new RegExp(`port ${port} \\(L1 RPC\\) is in use`),
    )
  })

  it('a directory in which another testnet runs', async () => {
    expectRefusal(
      await run(TESTNET, ['--base-port', '0', '--dir', testnet.dir]),
      /another testnet \(process \d+\) runs in/,
    )
  })

  it('a number out of range, and flags that exclude each other', async () => {
    expect((await run(TESTNET, ['--nodes', '0'])).stderr).toMatch(/--nodes.*expected a whole number from 1/)
    expectRefusal(await run(TESTNET, ['--chain-id', '900']), /--chain-id and --l1-chain-id must differ/)
  })

  it('an L1 chain id whose bootnodes are on the Internet', async () => {
    expectRefusal(
      await run(TESTNET, ['--l1-chain-id', '11155111']),
      /--l1-chain-id 11155111 is that of a public network/,
    )
  })

  it('an address that the machine does not have, and a reserved address', async () => {
    const dir = join(directory, 'host')
    const refusal = /: --host 203\.0\.113\.1: this machine does not have that address; it has 127\.0\.0\.1/
    expectRefusal(await run(TESTNET, ['--host', '203.0.113.1', '--dir', dir]), refusal)
    expectRefusal(await run(TESTNET, ['--host', '203.0.113.1', '--base-port', '0', '--dir', dir]), refusal)
    expectRefusal(await run(TESTNET, ['--host', '255.255.255.255', '--dir', dir]), /expected an IPv4 address/)
  })

  it('a directory that is a file, has no name, or cannot be created', async () => {
    const file = join(directory, 'file')
    writeFileSync(file, '')
    const refused = (dir: string) => run(TESTNET, ['--base-port', '0', '--dir', dir])
    expectRefusal(await refused(file), /: cannot create the directory .*file: it is not a directory$/m)
    expectRefusal(await refused(join(file, 'below')), /: cannot create the directory .*file: it is not a directory$/m)
    expectRefusal(await refused(''), /--dir.*expected the path of a directory/)
    if (process.platform === 'linux') {
      expectRefusal(
        await refused('/proc/devium'),
        /: cannot create the directory \/proc\/devium: the system does not allow/,
      )
      expectRefusal(await refused('/proc'), /: cannot write to --dir \/proc: the system does not allow/)
    }
  })

  it('an invalid key, without showing it', async () => {
    const { dir, path: jwt } = keptChain('sequencer', 'jwt.txt', 'c0ffee')
    const ended = await run(TESTNET, ['--base-port', '0', '--dir', dir])
    expectRefusal(ended, new RegExp(`: JWT secret file ${jwt} must hold 32 bytes of hex`))
    expect(ended.stdout + ended.stderr).not.toContain('c0ffee')
  })

  it('a damaged file of a kept chain, without the advice to delete the chain', async () => {
    const { dir, path } = keptChain('join', 'rollup.json', '{"genesis":')
    expectRefusal(await run(TESTNET, ['--base-port', '0', '--dir', dir]), new RegExp(`: ${path} is damaged`))
  })

  it('unknown forks, and forks out of order', async () => {
    const dir = join(directory, 'forks')
    const refused = async (...args: string[]) =>
      (await run(TESTNET, ['--dir', dir, '--base-port', '0', ...args])).stderr
    expect(await refused('--fork', 'jovain')).toMatch(/--fork.*unknown fork "jovain", did you mean jovian\?/)
    expect(await refused('--fork', 'nonsense')).toMatch(
      /--fork.*unknown fork "nonsense": known are ecotone, .*lagoon$/m,
    )
    expect(await refused('--fork', 'isthmus', '--fork-at', 'karst:60')).toMatch(/jovian comes before it/)
    expect(await refused('--fork-at', 'karst')).toMatch(/expected <fork>:<seconds>, for example karst:60/)
  })
})
