import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { BATCHER_KEY, type SubmitterSetup, setUpSubmitter } from '../../batcher/testUtils/submitterSetup.ts'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { startRpcProxy } from '../../l1/testUtils/rpcProxy.ts'
import { kzg } from '../../lib/kzg/testUtils/kzgInTest.ts'
import { postJson } from '../../lib/testUtils/httpRequest.ts'
import { until } from '../../lib/testUtils/until.ts'
import { unlessGiven } from '../testUtils/runCommand.ts'

const BIN = fileURLToPath(new URL('../../../bin/devium-batch-submitter.mjs', import.meta.url))

const DEVIUM = fileURLToPath(new URL('../../../bin/devium.mjs', import.meta.url))

interface Program {
  process: ChildProcess
  output(): string
  lines(message: string): Record<string, string>[]
  exit: Promise<number | null>
}

let setup: SubmitterSetup
const programs: Program[] = []
const clients: RpcClient[] = []

beforeEach(async () => {
  setup = await setUpSubmitter(kzg, 'granite-singular-zlib-calldata')
})

afterEach(async () => {
  for (const program of programs.splice(0)) {
    program.process.kill('SIGKILL')
    await program.exit
    expect(program.output().toLowerCase()).not.toContain(BATCHER_KEY)
  }
  for (const client of clients.splice(0)) await client.close()
  await setup.stop()
})

function run(args: readonly string[], env: Record<string, string> = {}, bin = BIN): Program {
  const child = spawn(process.execPath, [bin, ...args], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const program: Program = {
    process: child,
    output: () => output,
    lines: (message) =>
      output
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line))
        .filter(({ msg }) => msg === message),
    exit: new Promise((resolve) => child.once('close', resolve)),
  }
  programs.push(program)
  return program
}

function start(args: readonly string[] = []): Program {
  return run(
    [
      ...unlessGiven(args, [
        `--l1-eth-rpc=${setup.anvil.url}`,
        `--l2-eth-rpc=${setup.node.url}`,
        `--rollup-rpc=${setup.node.url}`,
      ]),
      '--poll-interval=50ms',
      '--max-channel-duration=1',
      '--num-confirmations=1',
      '--sub-safety-margin=4',
      '--txmgr.receipt-query-interval=25ms',
      '--rpc.port=0',
      '--rpc.enable-admin',
      '--log.format=json',
      '--log.level=debug',
      ...args,
    ],
    { DEVIUM_BATCH_SUBMITTER_PRIVATE_KEY: BATCHER_KEY },
  )
}

async function startLine(program: Program): Promise<Record<string, string>> {
  return until(() => program.lines('Batch submitter started')[0])
}

async function adminOf(program: Program): Promise<RpcClient> {
  const client = createPatientClient({ url: (await startLine(program)).rpc ?? '' })
  clients.push(client)
  return client
}

describe('devium-batch-submitter', () => {
  it('waits at the start for an L1 that answers 503', async () => {
    const proxy = await startRpcProxy(setup.anvil.url)
    onTestFinished(proxy.stop)
    proxy.fault = 'status'
    const program = start([`--l1-eth-rpc=${proxy.url}`, '--stopped'])
    await until(() => proxy.calls.length >= 8)
    expect(program.lines(`Waiting for the L1 at ${proxy.url} to answer`)).toHaveLength(1)
    proxy.fault = 'none'
    expect(await startLine(program)).toMatchObject({ from: setup.sender })
  })

  it('starts although one L1 address does not answer, but refuses L1 addresses of two chains', async () => {
    const proxy = await startRpcProxy(setup.anvil.url)
    onTestFinished(proxy.stop)
    proxy.fault = 'down'
    const program = start([`--l1-eth-rpc=${proxy.url},${setup.anvil.url}`, '--stopped'])
    expect(await startLine(program)).toMatchObject({ from: setup.sender })
    expect(program.lines('L1 endpoint unused until it answers')).toMatchObject([{ url: proxy.url }])

    proxy.fault = 'none'
    proxy.change = (method, result) => (method === 'eth_chainId' ? '0x5' : result)
    const refused = start([`--l1-eth-rpc=${setup.anvil.url},${proxy.url}`])
    expect(await refused.exit).toBe(1)
    expect(refused.output()).toMatch(/--l1-eth-rpc: http:\S+ serves chain \d+, another address serves chain \d+/)
  })

  it('continues with another address when its L1 stops', async () => {
    const proxy = await startRpcProxy(setup.anvil.url)
    onTestFinished(proxy.stop)
    setup.node.unsafe = 3
    const program = start([`--l1-eth-rpc=${proxy.url},${setup.anvil.url}`, '--metrics.enabled', '--metrics.port=0'])
    await until(async () => (await setup.node.safeNumber()) === 3)
    proxy.fault = 'down'
    setup.node.unsafe = 6
    await until(async () => (await setup.node.safeNumber()) === 6)
    expect(program.lines('Left an L1 endpoint')).toMatchObject([{ from: proxy.url, to: setup.anvil.url }])
    const { metrics } = await startLine(program)
    const text = await (await fetch(metrics ?? '')).text()
    expect(text).toContain(`devium_l1_endpoint_switches_total{from="${proxy.url}",to="${setup.anvil.url}"} 1`)
  })

  it('posts batches, stops and starts by RPC, and ends with an interrupt', async () => {
    setup.node.unsafe = 6
    const program = start(['--metrics.enabled', '--metrics.port=0'])
    const admin = await adminOf(program)
    await until(async () => (await setup.node.safeNumber()) === 6)

    setup.node.unsafe = 9
    await until(() => program.lines('Added L2 block to local state').length === 9)
    expect(await admin.request('admin_stopBatcher', [])).toBeNull()
    expect(program.lines('Batch Submitter stopped')).toHaveLength(1)
    expect(await setup.node.safeNumber()).toBe(9)
    await expect(admin.request('admin_stopBatcher', [])).rejects.toThrow('batcher is not running')
    const { rpc = '' } = await startLine(program)
    const afterStop = run(['batcher', 'status', `--rpc=${rpc}`], {}, DEVIUM)
    expect(await afterStop.exit).toBe(0)
    expect(afterStop.output()).toMatch(/^batcher +stopped, sender 0x/m)
    expect(afterStop.output()).toMatch(/^L2 +.*, loaded to 9$/m)
    expect(afterStop.output()).toMatch(/^L1 +head [1-9]\d*, answered \d+ s ago$/m)
    expect(afterStop.output()).toMatch(/^last hour +[1-9]\d* transactions?, /m)

    setup.node.unsafe = 12
    expect(await admin.request('admin_startBatcher', [])).toBeNull()
    await expect(admin.request('admin_startBatcher', [])).rejects.toThrow('batcher is already running')
    await until(async () => (await setup.node.safeNumber()) === 12)

    const status = (await admin.request('admin_batcherStatus', [])) as Record<string, unknown>
    expect(status).toMatchObject({ running: true, from: setup.sender, lastLoaded: { number: 12 }, l1: { error: null } })
    const shown = run(['batcher', 'status', `--rpc=${rpc}`], {}, DEVIUM)
    expect(await shown.exit).toBe(0)
    expect(shown.output()).toMatch(/^batcher +running, sender 0x/m)
    expect(shown.output()).toMatch(/^last hour +[1-9]\d* transactions?, /m)

    const { metrics, from } = await startLine(program)
    const text = await (await fetch(metrics ?? '')).text()
    expect(text).toContain('op_batcher_default_up 1')
    expect(text).toMatch(/op_batcher_default_batcher_tx_total\{stage="success"\} [1-9]/)
    expect(text).toMatch(/op_batcher_default_balance [1-9]/)
    expect(text).toMatch(/op_batcher_default_txmgr_current_nonce [1-9]/)
    expect(text).toMatch(/op_batcher_default_txmgr_last_publish_unix [1-9]/)
    expect(text).toMatch(/op_batcher_default_txmgr_last_confirm_unix\{status="success"\} [1-9]/)
    expect(text).toMatch(/op_batcher_default_pending_da_bytes 0/)
    expect(text).toMatch(/op_batcher_default_throttle_controller_type\{type="quadratic"\} 1/)
    expect(text).toMatch(/op_batcher_default_unsafe_bytes_ratio\{type="quadratic"\} 0/)
    expect(text).toMatch(
      /op_batcher_default_rpc_client_requests_total\{rpc="l1",method="eth_sendRawTransaction"\} [1-9]/,
    )
    expect(from).toBe(setup.sender)

    program.process.kill('SIGINT')
    expect(await program.exit).toBe(0)
    expect(program.lines('Batch Submitter stopped')).toHaveLength(2)
    expect(program.output()).not.toMatch(/"lvl":"(warn|error|crit)"/)
  })

  it('ends with one interrupt while it waits for confirmations, even when L1 is down', async () => {
    setup.node.unsafe = 3
    // The long poll interval prevents a second status request: the node would report the blocks as safe already.
    const program = start(['--num-confirmations=10', '--poll-interval=1h', '--log.level=debug'])
    await until(() => program.lines('Transaction is in a block').length > 0)
    await setup.anvil.stop()
    program.process.kill('SIGINT')
    expect(await program.exit).toBe(0)
    expect(program.lines('Stopped before all data was saved to L1')).toHaveLength(1)
    expect(program.lines('Batch Submitter stopped')).toHaveLength(0)
  })

  it('starts idle with --stopped, and serves the other admin methods', async () => {
    setup.node.unsafe = 3
    const program = start(['--stopped', '--max-channel-duration=0'])
    const admin = await adminOf(program)
    expect(setup.node.syncStatusCalls).toBe(0)
    const { rpc = '' } = await startLine(program)
    const idle = run(['batcher', 'status', `--rpc=${rpc}`], {}, DEVIUM)
    expect(await idle.exit).toBe(0)
    expect(idle.output()).toMatch(/^L1 +head [1-9]\d*, answered \d+ s ago$/m)
    expect(idle.output()).toMatch(/^rollup node +no request yet$/m)
    await expect(admin.request('admin_flushBatcher', [])).rejects.toThrow('batcher is not running')
    expect(await admin.request('txmgr_getMinBaseFee', [])).toBe(1_000_000_000)
    expect(await admin.request('txmgr_setMinBaseFee', [2_000_000_000])).toBeNull()
    expect(await admin.request('txmgr_getMinBaseFee', [])).toBe(2_000_000_000)
    expect(await admin.request('txmgr_getBumpFeeRetryTime', [])).toBe(48_000_000_000)
    expect(await admin.request('txmgr_getMinBlobFee', [])).toBe(1_000_000_000)
    expect(await admin.request('txmgr_setMinBlobFee', [1])).toBeNull()
    expect(await admin.request('txmgr_getMinBlobFee', [])).toBe(1)
    expect(await admin.request('txmgr_getBlobTipCapDynamic', [])).toBe(false)
    expect(await admin.request('txmgr_setBlobTipCapDynamic', [true])).toBeNull()
    expect(await admin.request('txmgr_getBlobTipCapDynamic', [])).toBe(true)
    await expect(admin.request('txmgr_setBlobTipCapDynamic', ['yes'])).rejects.toMatchObject({ rpcCode: -32602 })
    await expect(admin.request('txmgr_setMinBaseFee', ['much'])).rejects.toMatchObject({ rpcCode: -32602 })
    await expect(admin.request('admin_setLogLevel', ['loud'])).rejects.toMatchObject({ rpcCode: -32602 })
    await expect(admin.request('txmgr_setMinBlobFee', [1, 2])).rejects.toThrow('too many arguments, want at most 1')
    await expect(admin.request('admin_stopBatcher', ['now'])).rejects.toThrow('too many arguments, want at most 0')
    await expect(admin.request('admin_nothing', [])).rejects.toMatchObject({ rpcCode: -32601 })
    expect(await admin.request('admin_setLogLevel', ['dbug'])).toBeNull()
    expect(await admin.request('admin_getThrottleController', [])).toEqual({
      type: 'quadratic',
      lower_threshold: 3_200_000,
      upper_threshold: 12_800_000,
      current_load: 0,
      intensity: 0,
      max_tx_size: 0,
      max_block_size: 130_000,
    })
    const pid = { kp: 1, integral_max: 10, output_max: 1, sample_time: '2s' }
    expect(await admin.request('admin_setThrottleController', ['pid', pid])).toBeNull()
    const off = admin.request('admin_setThrottleController', ['pid', { ...pid, output_max: 0 }])
    await expect(off).rejects.toMatchObject({ rpcCode: -32602, message: expect.stringContaining('OutputMax') })
    expect(await admin.request('admin_getThrottleController', [])).toMatchObject({ type: 'pid' })
    await expect(admin.request('admin_setThrottleController', ['pid', null])).rejects.toThrow(
      'cannot set PID controller type without configuration',
    )
    await expect(admin.request('admin_setThrottleController', ['cubic'])).rejects.toThrow(
      "invalid controller type 'cubic', must be one of: [step, linear, quadratic, pid]",
    )
    const noText = admin.request('admin_setThrottleController', [{ toString: 1 }])
    await expect(noText).rejects.toThrow(`invalid controller type '{"toString":1}', must be one of`)
    expect(await admin.request('admin_setThrottleController', [''])).toBeNull()
    expect(await admin.request('admin_getThrottleController', [])).toMatchObject({ type: 'step' })
    expect(await admin.request('admin_resetThrottleController', [])).toBeNull()
    await admin.request('admin_startBatcher', [])
    await until(() => program.lines('Added L2 block to local state').length === 3)
    await admin.request('admin_flushBatcher', [])
    await until(async () => (await setup.node.safeNumber()) === 3)
  })

  it('accepts the profiler flags of op-batcher with a warning', async () => {
    const program = start(['--stopped', '--pprof.enabled', '--pprof.port=6060'])
    await startLine(program)
    expect(program.output()).toContain('--pprof.enabled')
  })

  it('has no admin methods unless they are enabled', async () => {
    const program = start(['--rpc.enable-admin=false'])
    const admin = await adminOf(program)
    await expect(admin.request('admin_stopBatcher', [])).rejects.toMatchObject({ rpcCode: -32601 })
  })

  it('refuses changing methods to web pages of other origins', async () => {
    const program = start(['--stopped'])
    const { rpc: url = '' } = await startLine(program)
    const call = { jsonrpc: '2.0', id: 1, method: 'admin_startBatcher', params: [] }
    const foreign = await postJson(url, { origin: 'https://evil.example' }, call)
    expect(JSON.parse(foreign.text).error.message).toMatch(/https:\/\/evil\.example .*\badmin_startBatcher\b/)
    expect(foreign.headers).not.toHaveProperty('access-control-allow-origin')
    expect(await postJson(url, { host: 'evil.example' }, call)).toMatchObject({ status: 403 })
    expect(setup.node.syncStatusCalls).toBe(0)
    const own = await postJson(url, { host: 'localhost', origin: 'http://localhost:3000' }, call)
    expect(JSON.parse(own.text)).toMatchObject({ result: null })
  })

  it('requires the token for changes, and with --rpc.token-read also for reads', async () => {
    const tokenFile = join(mkdtempSync(join(tmpdir(), 'devium-submitter-')), 'token')
    onTestFinished(() => rmSync(dirname(tokenFile), { recursive: true }))
    const program = start(['--stopped', `--rpc.token-file=${tokenFile}`])
    const { rpc: url = '' } = await startLine(program)
    const request = async (headers: Record<string, string>, names: readonly string[], at = url) =>
      JSON.parse(
        (
          await postJson(
            at,
            headers,
            names.map((method) => ({ jsonrpc: '2.0', id: method, method, params: [] })),
          )
        ).text,
      )
    const amounts = ['MinBaseFee', 'MinPriorityFee', 'MinBlobFee', 'FeeThreshold', 'BlobTipCapDynamic']
    const tunables = [...amounts, 'BumpFeeRetryTime', 'RebroadcastInterval']
    const reading = [
      'admin_batcherStatus',
      'admin_getThrottleController',
      ...tunables.map((name) => `txmgr_get${name}`),
    ]
    const changing = [
      ...['admin_startBatcher', 'admin_stopBatcher', 'admin_flushBatcher', 'admin_setLogLevel'],
      ...['admin_setThrottleController', 'admin_resetThrottleController'],
      ...tunables.map((name) => `txmgr_set${name}`),
    ]
    const document = readFileSync(new URL('../../../docs/interfaces.md', import.meta.url), 'utf8')
    for (const name of [...reading, ...changing]) expect(document).toContain(`\`${name}\``)
    expect(await request({}, reading)).toEqual(reading.map((id) => ({ jsonrpc: '2.0', id, result: expect.anything() })))
    expect(await request({}, changing)).toEqual(
      changing.map((id) => ({
        ...{ jsonrpc: '2.0', id },
        error: {
          ...{ code: -32000, message: `${id} changes something and needs a bearer token` },
          data: { needs: 'token' },
        },
      })),
    )
    // A foreign web page is still refused the methods that clients without a token may read.
    const foreign = await request({ origin: 'https://evil.example' }, reading)
    expect(foreign).toEqual(reading.map((id) => expect.objectContaining({ id, error: expect.anything() })))
    const shown = { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` }
    expect(await request(shown, ['admin_resetThrottleController'])).toMatchObject([{ result: null }])

    const closed = start(['--stopped', `--rpc.token-file=${tokenFile}`, '--rpc.token-read'])
    const { rpc: at = '' } = await startLine(closed)
    const call = { jsonrpc: '2.0', id: 1, method: 'admin_batcherStatus', params: [] }
    expect(await postJson(at, {}, call)).toMatchObject({ status: 401 })
    expect(await request(shown, reading, at)).toHaveLength(reading.length)
  })

  it('warns while the rollup node does not answer, and continues', async () => {
    setup.node.unsafe = 3
    setup.node.syncStatusFault = 'hang'
    const program = start(['--network-timeout=300ms'])
    const warning = await until(() => program.lines('Error calculating L2 block range')[0])
    expect(warning).toMatchObject({ lvl: 'warn', err: expect.stringContaining('sync status request timed out') })
    setup.node.syncStatusFault = 'none'
    await until(async () => (await setup.node.safeNumber()) === 3)
  })

  it('exits with code 1 when the rollup node has another L1', async () => {
    setup.chain.rollup.l1_chain_id = 1
    const program = start()
    expect(await program.exit).toBe(1)
    expect(program.output()).toContain(
      "devium-batch-submitter: --l1-eth-rpc serves chain 900, but the rollup node's L1",
    )
  })

  it('names the flag of a port that is in use', async () => {
    const program = start([`--rpc.port=${new URL(setup.node.url).port}`])
    expect(await program.exit).toBe(1)
    expect(program.output()).toContain('(--rpc.port): the port is in use by another program')
  })
})
