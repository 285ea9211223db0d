import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRpcClient, type RpcClient } from '../../src/lib/jsonRpc/client.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// The rollup node on another execution client: every block that devium-geth made is executed again by op-geth, which
// must come to the same hashes. Needs a binary of op-geth: DEVIUM_OP_GETH=/path/to/geth.
const opGeth = process.env.DEVIUM_OP_GETH
const title = opGeth === undefined ? 'on op-geth (skipped: DEVIUM_OP_GETH names no binary)' : 'on op-geth'

const ROLLUP_NODE = fileURLToPath(new URL('../../bin/devium--batcher.mjs', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'devium-op-geth-'))
const children: ChildProcess[] = []
let testnet: RunningTestnet
let node: RpcClient
let sequencer: RpcClient

interface Head {
  number: number
  hash: string
}

async function heads(rpc: RpcClient): Promise<{ unsafe_l2: Head; safe_l2: Head; finalized_l2: Head }> {
  return (await rpc.request('optimism_syncStatus', [])) as Awaited<ReturnType<typeof heads>>
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  await new Promise((resolve) => server.close(resolve))
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

function start(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: 'ignore' })
  children.push(child)
  // A test run that is cut short takes it along.
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGINT')
  await exited
}

/** Op-geth with the testnet's genesis, and a rollup node above it that knows the sequencer. */
async function joinWith(binary: string): Promise<RpcClient> {
  const [first] = testnet.nodes
  if (first === undefined) throw new Error('the testnet has no node')
  const datadir = join(directory, 'geth')
  const jwt = join(directory, 'jwt.txt')
  const [engine, rpc, http] = [await freePort(), await freePort(), await freePort()]
  writeFileSync(jwt, '42'.repeat(32))
  execFileSync(binary, ['init', '--state.scheme=hash', `--datadir=${datadir}`, join(testnet.joinDir, 'genesis.json')], {
    stdio: 'ignore',
  })
  start(binary, [
    `--datadir=${datadir}`,
    '--http',
    `--http.port=${http}`,
    `--authrpc.port=${engine}`,
    `--authrpc.jwtsecret=${jwt}`,
    '--port=0',
    '--nodiscover',
    '--maxpeers=0',
    '--syncmode=full',
    '--gcmode=archive',
    '--rollup.disabletxpoolgossip',
    '--nat=none',
    '--ipcdisable',
  ])
  start(process.execPath, [
    ROLLUP_NODE,
    `--l1=${testnet.l1.rpc}`,
    '--l1.beacon.ignore',
    '--l1.http-poll-interval=300ms',
    '--l1.epoch-poll-interval=1s',
    `--l2=http://127.0.0.1:${engine}`,
    `--l2.jwt-secret=${jwt}`,
    `--rollup.config=${join(testnet.joinDir, 'rollup.json')}`,
    `--rpc.port=${rpc}`,
    `--p2p.priv.path=${join(directory, 'p2p-key.txt')}`,
    '--p2p.peerstore.path=memory',
    '--p2p.listen.ip=127.0.0.1',
    '--p2p.listen.tcp=0',
    '--p2p.no-discovery',
    `--p2p.static=${first.p2p}`,
  ])
  return createRpcClient({ url: `http://127.0.0.1:${rpc}` })
}

describe.skipIf(opGeth === undefined)(title, () => {
  beforeAll(async () => {
    testnet = await startTestnet({ nodes: 1 })
    sequencer = createRpcClient({ url: testnet.nodes[0]?.rollupRpc ?? '' })
    node = await joinWith(opGeth ?? '')
  })

  afterAll(async () => {
    await Promise.all(children.reverse().map(stop))
    await node?.close()
    await sequencer?.close()
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('derives and follows the chain that devium-geth makes', async () => {
    await expect.poll(async () => (await heads(node)).safe_l2.number, { timeout: 60_000 }).toBeGreaterThan(5)
    const { safe_l2: safe } = await heads(node)
    expect(await sequencer.request('devium_outputAtBlock', [`0x${safe.number.toString(16)}`])).toEqual(
      await node.request('devium_outputAtBlock', [`0x${safe.number.toString(16)}`]),
    )
    // Gossip: the unsafe head is the sequencer's, not only what L1 has.
    await expect
      .poll(async () => (await heads(sequencer)).unsafe_l2.number - (await heads(node)).unsafe_l2.number, {
        timeout: 30_000,
      })
      .toBeLessThanOrEqual(1)
    await expect.poll(async () => (await heads(node)).finalized_l2.number, { timeout: 60_000 }).toBeGreaterThan(0)
  })
})
