import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { createDeviumCommand } from '../../src/cli/operator/deviumCommand.ts'
import { runCommand } from '../../src/cli/testUtils/runCommand.ts'
import { DEV_KEYS, signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { toHex, toQuantity } from '../../src/lib/hex.ts'
import { heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

const DEVIUM = fileURLToPath(new URL('../../bin/devium.mjs', import.meta.url))
const clients = createRpcClients()
let net: RunningTestnet
let sequencer: RpcClient
let verifier: RpcClient

beforeAll(async () => {
  net = await startTestnet({ nodes: 2 })
  const [first, second] = net.nodes.map(({ rollupRpc }) => clients.connectTo(rollupRpc))
  if (first === undefined || second === undefined) throw new Error('the testnet has two nodes')
  sequencer = first
  verifier = second
})
afterAll(async () => {
  await clients.close()
  await net?.stop()
})

const devium = (...args: string[]) => runCommand(createDeviumCommand, ['testnet', ...args, '--dir', net.dir])
const peers = async () => ((await sequencer.request('opp2p_peerStats', [])) as { connected: number }).connected
const unsafe = async (node: RpcClient) => (await heads(node)).unsafe_l2.number
const safe = async (node: RpcClient) => (await heads(node)).safe_l2.number

async function blockHash(ethRpc: string, number: number): Promise<string> {
  const block = await clients.connectTo(ethRpc).request('eth_getBlockByNumber', [toQuantity(number), false])
  return (block as { hash: string }).hash
}

/** Waits until the node follows the sequencer's present blocks. */
async function catchesUp(node: RpcClient): Promise<void> {
  const head = await unsafe(sequencer)
  await expect.poll(() => unsafe(node)).toBeGreaterThan(head)
}

// In this order, on a testnet that would end if a program exited unexpectedly.
describe('commands for a running testnet', { shuffle: false }, () => {
  it('kill and start a node', async () => {
    await expect.poll(peers).toBe(1)
    const killed = await devium('kill', 'verifier1')
    expect(killed).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('verifier1-geth and verifier1-node killed.'),
    })
    await expect.poll(peers).toBe(0)
    const started = await devium('start', 'verifier1', '--json')
    expect(JSON.parse(started.stdout)).toMatchObject({ command: 'start verifier1', lookAt: expect.any(String) })
    await expect.poll(peers).toBe(1)
    await catchesUp(verifier)
  })

  it('pause an execution client and resume it', async () => {
    await net.command('pause sequencer/geth')
    const health = async () => JSON.stringify(await sequencer.request('devium_health', []))
    await expect.poll(health).toMatch(/"state":"(degraded|stopped)"/)
    await net.command('start sequencer/geth')
    await expect.poll(health).toContain('"state":"healthy"')
    await catchesUp(verifier)
  })

  it('partition nodes and heal: heads differ, then agree', async () => {
    const parted = await devium('partition', 'sequencer|verifier1')
    expect(parted.stdout).toContain('The network is partitioned: sequencer | verifier1.')
    await expect.poll(peers).toBe(0)
    // It still derives from L1, behind the sequencer's unsafe head.
    const behind = async () => (await unsafe(sequencer)) - (await unsafe(verifier))
    await expect.poll(behind).toBeGreaterThan(1)
    await net.command('heal')
    await expect.poll(peers).toBe(1)
    await catchesUp(verifier)
    const head = await heads(verifier)
    await expect.poll(() => blockHash(net.nodes[0]?.ethRpc ?? '', head.unsafe_l2.number)).toBe(head.unsafe_l2.hash)
  })

  it('slow a link, and restore it', async () => {
    await net.command('link sequencer-verifier1 delay=3s')
    const behind = async () => (await unsafe(sequencer)) - (await unsafe(verifier))
    await expect.poll(behind).toBeGreaterThanOrEqual(2)
    expect(await peers()).toBe(1)
    await net.command('link sequencer-verifier1 off')
    await expect.poll(behind).toBeLessThanOrEqual(1)
  })

  it('reorg L1: all nodes follow, and removed batches are posted again', async () => {
    const l1 = clients.connectTo(net.l1.rpc)
    const hashOf = async (tag: string) =>
      (await l1.request('eth_getBlockByNumber', [tag, false])) as { hash: string; number: string }
    const old = await hashOf('latest')
    expect((await net.command('reorg 3')).did).toMatch(/L1's last 3 blocks/)
    expect((await hashOf(old.number)).hash).not.toBe(old.hash)
    const head = await unsafe(sequencer)
    await expect.poll(() => safe(verifier)).toBeGreaterThan(head)
    const derived = await heads(verifier)
    await expect.poll(() => blockHash(net.nodes[0]?.ethRpc ?? '', derived.safe_l2.number)).toBe(derived.safe_l2.hash)
    await expect(net.command('reorg 100')).rejects.toThrow(/\bfinalized\b.*\d/)
  })

  it('stop L1 and start it again, with other fees', async () => {
    const l1 = clients.connectTo(net.l1.rpc)
    const block = async () =>
      (await l1.request('eth_getBlockByNumber', ['latest', false])) as { number: string; baseFeePerGas: string }
    await net.command('l1 stop')
    const stopped = await block()
    const [head, safeHead] = [await unsafe(sequencer), await safe(verifier)]
    await expect.poll(() => unsafe(sequencer)).toBeGreaterThan(head + 4)
    expect((await block()).number).toBe(stopped.number)
    await net.command('l1 fees x50')
    await net.command('l1 start')
    const next = () => l1.request('eth_getBlockByNumber', [toQuantity(Number(stopped.number) + 1), false])
    await expect.poll(next).toMatchObject({ number: toQuantity(Number(stopped.number) + 1) })
    const { baseFeePerGas } = (await next()) as { baseFeePerGas: string }
    expect(Number(baseFeePerGas)).toBe(Number(stopped.baseFeePerGas) * 50)
    await expect.poll(() => safe(verifier)).toBeGreaterThan(safeHead)
  })

  it('stop the batch submitter, so that safe heads stall until it is started again', async () => {
    await net.command('stop batcher')
    const stopped = () => net.events.some((event) => event.event === 'ended' && event.program === 'batcher')
    await expect.poll(stopped).toBe(true)
    // All its batches are derived once the safe head stalls while the unsafe head advances.
    let before = -1
    const stands = async () => {
      const [last, head] = [before, await unsafe(sequencer)]
      await expect.poll(() => unsafe(sequencer)).toBeGreaterThan(head + 4)
      before = await safe(verifier)
      return before === last
    }
    await expect.poll(stands).toBe(true)
    await net.command('start batcher')
    await expect.poll(() => safe(verifier)).toBeGreaterThan(before)
  })

  it("set a node's clock back, so that blocks come from the future", async () => {
    const health = async () => JSON.stringify(await verifier.request('deviump2p_health', []))
    expect(await devium('clock', 'verifier1', '-40s')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("verifier1-geth and verifier1-node are 40s behind the machine's clock."),
    })
    await expect.poll(health).toMatch(/from-future/)
    await net.command('clock verifier1 0')
    await catchesUp(verifier)
    await expect(net.command('clock l1 +1s')).rejects.toThrow(/\bl1\b/)
  })

  it('load the chain with transactions', async () => {
    const engine = clients.connectTo(net.nodes[1]?.ethRpc ?? '')
    const count = async (kind: string): Promise<number> => {
      const head = toQuantity(await unsafe(verifier))
      const block = (await engine.request('eth_getBlockByNumber', [head, true])) as {
        transactions: { input: string }[]
      }
      const isOfKind = ({ input }: { input: string }) => (kind === 'data' ? /^0x(da){4000}$/ : /^0x$/).test(input)
      return block.transactions.filter(isOfKind).length
    }
    await net.command('load 40')
    await expect.poll(() => count('transfers')).toBeGreaterThan(20)
    await net.command('load 10 data')
    await expect.poll(() => count('data')).toBeGreaterThan(4)
    expect((await net.command('load off')).did).toMatch(/^The load ended: \d+ transactions taken, 0 refused\.$/)
    await expect.poll(() => count('data')).toBe(0)
    await expect(net.command('load off')).rejects.toThrow('load')
  })

  it('move the sequencer to another node: heads advance, and transactions and batches reach it', async () => {
    const head = await heads(sequencer)
    expect((await net.command('sequencer move verifier1')).did).toMatch(
      /^verifier1 is the sequencer now, and sequencer is a verifier/,
    )
    expect(await verifier.request('admin_sequencerActive', [])).toBe(true)
    // Its previous block is still canonical.
    expect(await blockHash(net.nodes[1]?.ethRpc ?? '', head.unsafe_l2.number)).toBe(head.unsafe_l2.hash)
    const { raw, hash } = signTransaction(DEV_KEYS[0], { to: `0x${'d3'.repeat(20)}`, value: 1n })
    const engine = clients.connectTo(net.nodes[0]?.ethRpc ?? '')
    await engine.request('eth_sendRawTransaction', [toHex(raw)])
    const receipt = () => engine.request('eth_getTransactionReceipt', [hash])
    await expect.poll(receipt).toMatchObject({ status: '0x1' })
    const made = await unsafe(verifier)
    await expect.poll(() => safe(sequencer)).toBeGreaterThan(made)
    await net.command('sequencer move sequencer')
    expect(await sequencer.request('admin_sequencerActive', [])).toBe(true)
    await catchesUp(verifier)
  })

  it('add a node, which follows by gossip, and remove it', async () => {
    const added = await net.command('add-node')
    expect(added.did).toMatch(/^verifier2 runs at http:/)
    const third = clients.connectTo(/http:\S+\d/.exec(added.did)?.[0] ?? '')
    await expect.poll(peers).toBe(2)
    await catchesUp(third)
    await net.command('partition verifier2')
    await expect.poll(peers).toBe(1)
    await net.command('heal')
    await expect.poll(peers).toBe(2)
    expect((await net.command('kill verifier2/geth')).did).toBe('verifier2-geth killed.')
    expect((await net.command('remove-node verifier2')).did).toMatch(/^verifier2 ended/)
    await expect.poll(peers).toBe(1)
    await expect(net.command('start verifier2')).rejects.toThrow('"verifier2"')
    await catchesUp(verifier)
  })

  it('take a snapshot and restore it: later blocks are removed, and all nodes continue', async () => {
    const l1 = clients.connectTo(net.l1.rpc)
    const engine = clients.connectTo(net.nodes[0]?.ethRpc ?? '')
    const nonce = (client: RpcClient) => client.request('eth_getTransactionCount', [sender, 'latest'])
    const { address: sender, privateKey } = net.accounts[1] ?? { address: '', privateKey: '' }
    expect(sender).not.toBe('')
    const kept = await heads(verifier)
    expect(await devium('snapshot', 'base')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('/snapshots/base has all data'),
    })
    const before = await nonce(engine)
    expect(before).toBe('0x0')
    const { raw } = signTransaction(Buffer.from(privateKey.slice(2), 'hex'), { to: `0x${'d4'.repeat(20)}`, value: 1n })
    await engine.request('eth_sendRawTransaction', [toHex(raw)])
    await expect.poll(() => nonce(engine)).toBe('0x1')
    const l1Head = Number(await l1.request('eth_blockNumber', []))
    await expect.poll(async () => Number(await l1.request('eth_blockNumber', []))).toBeGreaterThan(l1Head)
    // Ended programs continue too.
    await net.command('kill verifier1')
    expect((await net.command('restore base')).did).toMatch(/^All programs continue from base, taken \d+s ago/)
    expect(await nonce(engine)).toBe(before)
    expect(await blockHash(net.nodes[1]?.ethRpc ?? '', kept.unsafe_l2.number)).toBe(kept.unsafe_l2.hash)
    await catchesUp(verifier)
    const made = await unsafe(sequencer)
    await expect.poll(() => safe(verifier)).toBeGreaterThan(made)
    await expect(net.command('restore bass')).rejects.toThrow(/"bass".*\bbase\b/)
  })

  it('let a separate node join by an address, which follows by gossip and derives from L1', async () => {
    const dir = join(net.dir, 'joined')
    const peersBefore = await peers()
    const joiner = spawn(process.execPath, [DEVIUM, 'testnet', 'join', net.joinUrl, '--dir', dir, '--base-port', '0'])
    onTestFinished(() => void joiner.kill('SIGKILL'))
    const ended = new Promise((resolve) => joiner.once('exit', resolve))
    let output = ''
    joiner.stdout.on('data', (text) => {
      output += text
    })
    await expect.poll(() => output).toContain('this node follows chain 901')
    const third = clients.connectTo(/rollup (http:\S+)/.exec(output)?.[1] ?? '')
    await expect.poll(peers).toBe(peersBefore + 1)
    await catchesUp(third)
    const made = await unsafe(sequencer)
    await expect.poll(() => safe(third)).toBeGreaterThan(made)
    joiner.kill('SIGINT')
    expect(await ended).toBe(0)
    await expect.poll(peers).toBe(peersBefore)
  })

  it("write the network as files for containers, with L1's current chain", async () => {
    const head = Number(await clients.connectTo(net.l1.rpc).request('eth_blockNumber', []))
    const [dir = ''] = (await net.command('export')).did.split(' has ')
    const parts = readdirSync(join(dir, 'l1-state')).sort()
    const packed = Buffer.concat(parts.map((part) => readFileSync(join(dir, 'l1-state', part))))
    const state: { blocks: unknown[] } = JSON.parse(gunzipSync(packed).toString())
    expect(state.blocks.length).toBeGreaterThanOrEqual(head)
    for (const name of ['compose.yaml', 'kubernetes/pods.yaml', 'chain/genesis.json', 'chain/rollup.json']) {
      expect(statSync(join(dir, name)).size).toBeGreaterThan(0)
    }
  })

  it("are accepted from a node's page too", async () => {
    const commands = (await sequencer.request('devium_testnetCommands', [])) as { name: string }[]
    expect(commands.map(({ name }) => name)).toContain('partition')
    for (const words of [
      ['pause', 'verifier1/geth'],
      ['start', 'verifier1/geth'],
    ]) {
      expect(await sequencer.request('devium_testnetCommand', [words])).toMatchObject({ command: words.join(' ') })
    }
    await catchesUp(verifier)
    await expect(sequencer.request('devium_testnetCommand', [['kill', 'verifier7']])).rejects.toThrow('"verifier7"')
  })

  it('are refused with the expected form, and require the file that only the owner reads', async () => {
    expect(await devium('kill', 'verifier7')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^devium: there is no program "verifier7": expected NODE, .*sequencer, verifier1; or l1/,
      ),
    })
    const file = join(net.dir, 'control.json')
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600')
    const nowhere = await runCommand(createDeviumCommand, ['testnet', 'kill', 'l1', '--dir', '/nonexistent'])
    expect(nowhere.stderr).toMatch(/no testnet runs in \/nonexistent .*--dir/)
  })

  it('leave a testnet that stops in order, also when a program is paused', async () => {
    await net.command('pause verifier1')
    expect(await net.stop()).toBe(0)
    expect(net.events.filter(({ event }) => event === 'warning')).toEqual([])
    expect(net.events.at(-1)).toEqual({ event: 'stopped' })
  })
})
