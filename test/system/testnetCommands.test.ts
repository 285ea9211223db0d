import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDeviumCommand } from '../../src/cli/operator/deviumCommand.ts'
import { runCommand } from '../../src/cli/testUtils/runCommand.ts'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

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

/** It follows the sequencer's blocks of now. */
async function catchesUp(node: RpcClient): Promise<void> {
  const head = await unsafe(sequencer)
  await expect.poll(() => unsafe(node)).toBeGreaterThan(head)
}

// One after the other, on a testnet that would end if a program ended by itself.
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

  it('pause an execution client and let it go on', async () => {
    await net.command('pause sequencer/geth')
    const health = async () => JSON.stringify(await sequencer.request('devium_health', []))
    await expect.poll(health).toMatch(/"state":"(degraded|stopped)"/)
    await net.command('start sequencer/geth')
    await expect.poll(health).toContain('"state":"healthy"')
    await catchesUp(verifier)
  })

  it('stop the batch submitter, so that safe heads stand still until it is started again', async () => {
    await net.command('stop batcher')
    const stopped = () => net.events.some((event) => event.event === 'ended' && event.program === 'batcher')
    await expect.poll(stopped).toBe(true)
    // All that it has posted is derived once the safe head stands while the unsafe head goes on.
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

  it('are refused with what is expected, and need the file that only the owner reads', async () => {
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
