import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createPublicClient, createWalletClient, defineChain, http, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { BlockDriver } from '../../src/execution/testUtils/blockDriver.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import { DEV_ADDRESSES, signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { createPatientClient } from '../../src/jsonRpc/testUtils/patientClient.ts'
import { createWebSocketRpcClient } from '../../src/jsonRpc/webSocketClient.ts'
import { fromHex, toHex } from '../../src/lib/hex.ts'
import { createJwt, loadJwtSecret } from '../../src/lib/jwt.ts'
import { postJson } from '../../src/lib/testUtils/httpRequest.ts'
import { listen } from '../../src/lib/testUtils/listen.ts'

// The real program, run as by an operator, on the genesis of a chain recorded from op-geth.
const script = fileURLToPath(new URL('../../bin/devium-geth.mjs', import.meta.url))
const root = mkdtempSync(join(tmpdir(), 'devium-geth-e2e-'))
const recording = loadRecordedRpc('holocene-span-brotli-calldata')
const genesisPath = join(root, 'genesis.json')
writeFileSync(genesisPath, JSON.stringify(recording.genesis))
const genesisHash = String(recording.blocks[0]?.hash)
/** The origin that may read the response in a browser. */
const CORS = 'access-control-allow-origin'
const PORTS = ['--http', '--http.port=0', '--authrpc.port=0']
const DEV_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80'

let datadirs = 0
const running = new Set<ChildProcess>()

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

interface Launched {
  child: ChildProcess
  ended: Promise<Ended>
  output: () => string
}

function launch(args: readonly string[], launcher: readonly string[] = []): Launched {
  const command = [...launcher, process.execPath, '--disable-warning=ExperimentalWarning', script, ...args]
  const child = spawn(command[0] ?? '', command.slice(1))
  running.add(child)
  const texts = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    texts.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    texts.stderr += chunk
  })
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => {
      running.delete(child)
      resolve({ code, ...texts })
    })
  })
  return { child, ended, output: () => texts.stdout + texts.stderr }
}

const run = (...args: string[]): Promise<Ended> => launch(args).ended

async function newDatadir(): Promise<string> {
  const datadir = join(root, `datadir-${++datadirs}`)
  const { code, stderr } = await run('init', '--datadir', datadir, genesisPath)
  expect(stderr).toBe('')
  expect(code).toBe(0)
  return datadir
}

interface Running {
  child: ChildProcess
  ended: Promise<Ended>
  output: () => string
  eth: string
  engine: RpcClient
  engineUrl: string
  driver: BlockDriver
}

/** Resolves when the program has logged its addresses. */
async function start(datadir: string, ...flags: string[]): Promise<Running> {
  return whenStarted(datadir, launch(['--datadir', datadir, ...PORTS, ...flags]))
}

async function whenStarted(datadir: string, started: Launched): Promise<Running> {
  const line = await new Promise<string>((resolve, reject) => {
    const findStartLine = () => {
      const found = started.output().match(/devium-geth started.*/)
      if (found !== null) resolve(found[0])
    }
    started.child.stdout?.on('data', findStartLine)
    void started.ended.then(({ stderr }) => reject(new Error(`devium-geth ended: ${stderr}`)))
  })
  const urlOf = (field: string) => new RegExp(`\\b${field}="?(http://[^\\s"]+)`).exec(line)?.[1] ?? ''
  const jwtSecret = loadJwtSecret(join(datadir, 'geth', 'jwtsecret'), { create: false })
  const engineUrl = urlOf('engine')
  const engine = createPatientClient({ url: engineUrl, jwtSecret })
  return { ...started, eth: urlOf('http'), engine, engineUrl, driver: new BlockDriver(engine, recording.rollup) }
}

async function stop({ child, ended, engine }: Running, signal: NodeJS.Signals = 'SIGINT'): Promise<Ended> {
  await engine.close()
  child.kill(signal)
  return ended
}

function expectRefusal({ code, stderr }: Ended, pattern: RegExp): void {
  expect(stderr).toMatch(pattern)
  expect(stderr.trimEnd().split('\n')).toHaveLength(1)
  expect(code).toBe(1)
}

function wallet(url: string) {
  const chain = defineChain({
    id: 901,
    name: 'recorded',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
  })
  const transport = http(url, { retryCount: 0 })
  return {
    client: createPublicClient({ chain, transport, cacheTime: 0 }),
    wallet: createWalletClient({ chain, transport, account: privateKeyToAccount(DEV_KEY) }),
  }
}

afterEach(() => {
  for (const child of running) child.kill('SIGKILL')
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

describe('init', () => {
  it('writes the genesis block once, and reports an existing one', async () => {
    const datadir = await newDatadir()
    const again = await run('--datadir', datadir, 'init', genesisPath)
    expect(again.code).toBe(0)
    expect(again.stdout).toContain(genesisHash)
  })

  it('refuses a flag that would change consensus rules', async () => {
    const datadir = join(root, 'never-made')
    expectRefusal(await run('init', '--datadir', datadir, '--override.isthmus=5', genesisPath), /--override\.isthmus/)
    expect(existsSync(datadir)).toBe(false)
  })

  it('refuses another genesis', async () => {
    const datadir = await newDatadir()
    const other = join(root, 'other.json')
    writeFileSync(other, JSON.stringify({ ...recording.genesis, timestamp: '0x1' }))
    expectRefusal(await run('init', '--datadir', datadir, other), /genesis/)
  })

  it('refuses a file that is missing, not JSON, or not a genesis', async () => {
    const datadir = join(root, 'none')
    const broken = join(root, 'broken.json')
    expectRefusal(await run('init', '--datadir', datadir, join(root, 'missing.json')), /cannot be read/)
    writeFileSync(broken, '{')
    expectRefusal(await run('init', '--datadir', datadir, broken), /is not JSON/)
    writeFileSync(broken, '{}')
    expectRefusal(await run('init', '--datadir', datadir, broken), /genesis.json: config/)
    expectRefusal(await run('init', '--datadir', datadir), /genesis\.json/)
    expect(existsSync(join(datadir, 'geth'))).toBe(false)
  })
})

describe('commands on files', () => {
  it('a chain is the same after export and dump-genesis, then init and import', async () => {
    const datadir = await newDatadir()
    const node = await start(datadir, '--gcmode=archive')
    await node.driver.build()
    await stop(node)
    const [blocks, dumped, other] = [join(root, 'chain.rlp.gz'), join(root, 'dumped.json'), join(root, 'imported')]
    // A database with all states must not be opened by a pruning node. The flag may come before or after the command's name.
    const exported = await run('--datadir', datadir, '--gcmode=archive', 'export', blocks)
    expect(exported).toMatchObject({ code: 0, stderr: '' })
    const { stdout, code } = await run('dump-genesis', '--datadir', datadir)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual(recording.genesis)
    writeFileSync(dumped, stdout)
    expect(await run('init', '--datadir', other, dumped)).toMatchObject({ code: 0, stderr: '' })
    const imported = await run('import', '--datadir', other, '--gcmode', 'archive', blocks)
    expect(imported).toMatchObject({ code: 0, stderr: '' })
    expect(imported.stdout).toMatch(/Imported blocks.*number=1\b/)
    expectRefusal(await run('export', '--datadir', other, blocks), /chain database is an archive/)
  })

  it('execute names a file that it cannot read', async () => {
    expectRefusal(await run('execute', join(root, 'missing.json')), /missing\.json: .*ENOENT/)
  })
})

it('ends when its database cannot be written, and keeps the acknowledged blocks', async () => {
  const datadir = await newDatadir()
  // A file of the database reaches the limit, as on a full disk.
  const limit = ['sh', '-c', 'ulimit -f 2400; exec "$@"', 'sh']
  const full = await whenStarted(datadir, launch(['--datadir', datadir, ...PORTS], limit))
  let acknowledged: unknown
  const build = async () => {
    for (let nonce = 0; ; nonce++) {
      const data = randomBytes(100_000)
      const { raw } = signTransaction(fromHex(DEV_KEY), { nonce, to: DEV_ADDRESSES[1], data, gasLimit: 5_000_000n })
      acknowledged = (await full.driver.build({ transactions: [raw], noTxPool: true })).blockHash
    }
  }
  await expect(build()).rejects.toThrow()
  const { code, stderr } = await full.ended
  expect(stderr).toContain('cannot be written')
  expect(code).toBe(1)
  expect(acknowledged).toBeDefined()

  const again = await start(datadir)
  expect(await again.engine.request('eth_getBlockByNumber', ['latest', false])).toMatchObject({ hash: acknowledged })
  await again.driver.build()
  expect((await stop(again)).code).toBe(0)
})

describe('refuses to start', () => {
  it.each([
    ['--no-such-flag'],
    ['--http.port=99999'],
    ['--override.canyon=0'],
    ['--rollup.sequencerhttp=sequencer:8545'],
  ])('with %s, naming the flag', async (flag) => {
    const datadir = await newDatadir()
    const ended = await run('--datadir', datadir, '--http', '--authrpc.port=0', flag)
    expectRefusal(ended, new RegExp(flag.replace(/=.*/, '')))
  })

  it('on a data directory without a chain', async () => {
    const datadir = join(root, 'never')
    expectRefusal(await run('--datadir', datadir, '--authrpc.port=0'), /holds no chain: run "devium-geth init/)
    expect(existsSync(datadir)).toBe(false)
  })

  it('on one that another process uses', async () => {
    const datadir = await newDatadir()
    const first = await start(datadir)
    expectRefusal(await run('--datadir', datadir, '--authrpc.port=0'), /another process/)
    await stop(first)
  })

  it('when a port is in use, leaving the data directory free', async () => {
    const datadir = await newDatadir()
    const { port, close } = await listen(createServer())
    const args = ['--datadir', datadir, '--http', '--http.port=0']
    expectRefusal(await run(...args, `--authrpc.port=${port}`), /--authrpc\.port.*in use/)
    expectRefusal(await run('--datadir', datadir, '--http', `--http.port=${port}`), /--http\.port.*in use/)
    await close()
    await stop(await start(datadir))
  })

  it('when the jwt file holds no secret', async () => {
    const datadir = await newDatadir()
    const jwt = join(root, 'bad-jwt.txt')
    writeFileSync(jwt, 'secret')
    const ended = await run('--datadir', datadir, '--authrpc.port=0', `--authrpc.jwtsecret=${jwt}`)
    expectRefusal(ended, /JWT secret file .*bad-jwt\.txt/)
    expect(ended.stderr).not.toContain('secret,')
  })
})

describe('running', () => {
  it('creates a JWT secret that only its owner can read', async () => {
    const datadir = await newDatadir()
    await stop(await start(datadir))
    const path = join(datadir, 'geth', 'jwtsecret')
    expect(readFileSync(path, 'utf8')).toMatch(/^0x[0-9a-f]{64}$/)
    expect(statSync(path).mode & 0o077).toBe(0)
  })

  it("accepts op-geth's usual command line and warns once of flags without effect", async () => {
    const datadir = await newDatadir()
    const usual = ['--http.addr=127.0.0.1', '--http.api=eth,net,web3,txpool,debug', '--http.corsdomain=*']
    const more = ['--http.vhosts=*', '--nodiscover', '--maxpeers=0', '--syncmode=full', '--gcmode=archive']
    const rest = ['--rollup.disabletxpoolgossip=true', '--networkid=901', '--verbosity=3', '--authrpc.vhosts=*']
    const quiet = await start(datadir, ...usual, ...more, ...rest, '--metrics', '--metrics.port=0')
    expect(quiet.output()).not.toMatch(/warn/i)
    await stop(quiet)
    const socket = ['--ws', '--ws.addr=127.0.0.1', '--ws.port=0', '--ws.api=eth,engine', '--ws.origins=*']
    const ignored = ['--cache=1024', '--syncmode=snap', '--bootnodes', 'enode://x', '--http.api=eth,engine']
    const noisy = await start(datadir, '--gcmode=archive', ...socket, ...ignored, '--metrics', '--metrics.port=0')
    expect(noisy.output()).toMatch(/Ignored flags.*--bootnodes.*--cache.*--syncmode/)
    const url = /ws: ?"?(ws:\/\/127\.0\.0\.1:\d+)/.exec(noisy.output().replaceAll('=', ': '))?.[1] ?? ''
    const client = createWebSocketRpcClient({ url })
    expect(await client.request('rpc_modules', [])).toEqual({ eth: '1.0', rpc: '1.0' })
    const metrics = /metrics="?(http:\/\/[^\s"]+)/.exec(noisy.output())?.[1] ?? ''
    expect(await (await fetch(`${metrics}/metrics`)).text()).toContain('\nrpc_websockets 1\n')
    await client.close()
    expect(noisy.output()).toContain('only --authrpc.port serves the engine namespace')
    await stop(noisy)
  })

  it('serves the requested namespaces, and only to known host names', async () => {
    const datadir = await newDatadir()
    const node = await start(datadir, '--http.api=eth,net')
    const call = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }
    const post = (host: string, origin = '') => postJson(node.eth, { host, origin }, call)
    expect(await post('localhost:1')).toMatchObject({ status: 200 })
    expect(await post('127.0.0.1')).toMatchObject({ status: 200 })
    expect(await post('evil.example')).toMatchObject({ status: 403 })
    expect((await post('localhost', 'https://app.example')).headers).not.toHaveProperty(CORS)
    expect((await fetch(`${node.eth}/healthz`)).status).toBe(200)
    const eth = createPatientClient({ url: node.eth })
    expect(await eth.request('rpc_modules', [])).toEqual({ eth: '1.0', net: '1.0', rpc: '1.0' })
    await expect(eth.request('debug_getRawHeader', ['latest'])).rejects.toMatchObject({ rpcCode: -32601 })
    await expect(eth.request('engine_exchangeCapabilities', [[]])).rejects.toMatchObject({ rpcCode: -32601 })
    await eth.close()
    await stop(node)

    const named = await start(datadir, '--http.vhosts=node.example', '--http.corsdomain=https://app.example')
    const answer = await postJson(named.eth, { host: 'node.example:8545', origin: 'https://app.example' }, call)
    expect(answer).toMatchObject({ status: 200, headers: { [CORS]: 'https://app.example' } })
    const foreign = await postJson(named.eth, { host: 'node.example:8545', origin: 'https://evil.example' }, call)
    expect(foreign.headers).not.toHaveProperty(CORS)
    expect(await postJson(named.eth, { host: 'localhost' }, call)).toMatchObject({ status: 403 })
    await stop(named)
  })

  it('serves the Engine API over WebSockets to clients with the secret', async () => {
    const datadir = await newDatadir()
    const node = await start(datadir)
    const jwt = createJwt(loadJwtSecret(join(datadir, 'geth', 'jwtsecret'), { create: false }), Date.now() / 1000)
    const url = node.engineUrl.replace('http', 'ws')
    const engine = createWebSocketRpcClient({ url, headers: { authorization: `Bearer ${jwt}` } })
    await new BlockDriver(engine, recording.rollup).build()
    expect(await engine.request('eth_blockNumber', [])).toBe('0x1')
    // A message longer than the public ports allow.
    const payload = { blockHash: genesisHash, transactions: [`0x${'00'.repeat(3_000_000)}`] }
    await expect(engine.request('engine_newPayloadV3', [payload, [], genesisHash])).rejects.toMatchObject({
      rpcCode: -32602,
    })
    await engine.close()
    await expect(createWebSocketRpcClient({ url }).request('eth_blockNumber', [])).rejects.toThrow()
    await stop(node)
  })

  it('a viem wallet deploys and calls a contract', async () => {
    const node = await start(await newDatadir())
    const { client, wallet: sender } = wallet(node.eth)
    // Returns 42.
    const deploy = await sender.deployContract({ abi: [], bytecode: '0x600a600c600039600a6000f3602a60005260206000f3' })
    const transfer = await sender.sendTransaction({ to: '0x00000000000000000000000000000000000abcde', value: 5n })
    await node.driver.build()
    const receipt = await client.getTransactionReceipt({ hash: deploy })
    expect(receipt.status).toBe('success')
    expect((await client.getTransactionReceipt({ hash: transfer })).status).toBe('success')
    const answer = await client.call({ to: receipt.contractAddress ?? null, data: '0x' })
    expect(BigInt(answer.data ?? 0)).toBe(42n)
    expect(await client.getBalance({ address: '0x00000000000000000000000000000000000abcde' })).toBe(5n)
    const [block] = await Promise.all([
      client.getBlock({ includeTransactions: true }),
      client.getFeeHistory({ blockCount: 1, rewardPercentiles: [50] }),
    ])
    expect(block.transactions.map(({ hash }) => hash)).toEqual(expect.arrayContaining([deploy, transfer]))
    await expect(sender.sendTransaction({ to: null, value: parseEther('9999999999') })).rejects.toThrow(
      /insufficient funds|exceeds the balance/,
    )
    const ended = await stop(node)
    expect(ended.code).toBe(0)
    expect(ended.stderr).toBe('')
  })

  it('forwards transactions to the sequencer', async () => {
    const sequencer = await start(await newDatadir())
    const verifier = await start(await newDatadir(), `--rollup.sequencerhttp=${sequencer.eth}`)
    const hash = await wallet(verifier.eth).wallet.sendTransaction({ to: `0x${'11'.repeat(20)}`, value: 1n })
    const payload = await sequencer.driver.build()
    expect(payload.transactions).toHaveLength(2)
    await verifier.driver.insert(payload, undefined)
    expect((await wallet(verifier.eth).client.getTransactionReceipt({ hash })).status).toBe('success')
    await Promise.all([stop(verifier), stop(sequencer)])
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)('keeps its chain over %s', async (signal) => {
    const datadir = await newDatadir()
    const node = await start(datadir)
    const hash = await wallet(node.eth).wallet.sendTransaction({ to: `0x${'22'.repeat(20)}`, value: 9n })
    const first = await node.driver.build()
    const second = await node.driver.build()
    await node.driver.setHead(toHex(Buffer.from(String(second.blockHash).slice(2), 'hex')))
    const ended = await stop(node, signal)
    expect(ended.code).toBe(signal === 'SIGKILL' ? null : 0)

    const again = await start(datadir)
    const { client } = wallet(again.eth)
    const { blockHash } = await client.getTransactionReceipt({ hash })
    expect(blockHash).toBe(first.blockHash)
    expect(await client.getBalance({ address: `0x${'22'.repeat(20)}` })).toBe(9n)
    expect((await client.getBlock()).hash).toBe(second.blockHash)
    await again.driver.build()
    expect(await client.getBlockNumber()).toBe(3n)
    await stop(again)
  })
})
