import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// Two of the five nodes connect only by discovery: the first verifier and the last.

const clients = createRpcClients()
const nodes = new Map<string, RpcClient>()
let net: RunningTestnet

beforeAll(async () => {
  net = await startTestnet({ nodes: 5 })
  for (const { name, rollupRpc } of net.nodes) nodes.set(name, clients.connectTo(rollupRpc))
}, 240_000)
afterAll(async () => {
  await clients.close()
  await net?.stop()
})

function node(name: string): RpcClient {
  const client = nodes.get(name)
  if (client === undefined) throw new Error(`no node ${name}`)
  return client
}

/** Names of the testnet's nodes that a node is connected to. */
async function peersOf(name: string): Promise<string[]> {
  const { peers } = (await node(name).request('deviump2p_peers', [true])) as { peers: Record<string, unknown> }
  return net.nodes.filter((one) => one.name !== name && one.peerId in peers).map((one) => one.name)
}

const unsafe = async (name: string) => (await heads(node(name))).unsafe_l2.number

async function agree(names: readonly string[]): Promise<void> {
  const head = await unsafe('sequencer')
  for (const name of names) await expect.poll(() => unsafe(name)).toBeGreaterThan(head)
}

const ALL = ['sequencer', 'verifier1', 'verifier2', 'verifier3', 'verifier4']
const others = (name: string) => ALL.filter((one) => one !== name)

describe('a partition of five nodes', { shuffle: false }, () => {
  it('cannot be bypassed by discovery, and keeps each side connected', async () => {
    for (const name of ALL) await expect.poll(() => peersOf(name)).toEqual(others(name))
    await net.command('partition sequencer,verifier2|verifier1,verifier4')
    // Nodes that are not named form a separate side.
    const sides = { sequencer: 'verifier2', verifier2: 'sequencer', verifier1: 'verifier4', verifier4: 'verifier1' }
    for (const [name, peer] of Object.entries(sides)) await expect.poll(() => peersOf(name)).toEqual([peer])
    await expect.poll(() => peersOf('verifier3')).toEqual([])
    // Nodes redial known addresses every five seconds in the meantime.
    await agree(['verifier2'])
    const behind = async () => (await unsafe('sequencer')) - (await unsafe('verifier4'))
    await expect.poll(behind).toBeGreaterThan(1)
    const head = await unsafe('sequencer')
    await expect.poll(() => unsafe('sequencer')).toBeGreaterThan(head + 12)
    for (const [name, peer] of Object.entries(sides)) expect(await peersOf(name)).toEqual([peer])
    expect(await peersOf('verifier3')).toEqual([])
  })

  it('changes sides, and heals', async () => {
    await net.command('partition verifier4')
    await expect.poll(() => peersOf('verifier4')).toEqual([])
    await agree(['verifier1', 'verifier2', 'verifier3'])
    await net.command('heal')
    for (const name of ALL) await expect.poll(() => peersOf(name)).toEqual(others(name))
    await agree(others('sequencer'))
  })

  it('keeps connections found by discovery when another link gets a fault', async () => {
    await net.command('link verifier1-verifier4 delay=100ms')
    for (const name of ALL) await expect.poll(() => peersOf(name)).toEqual(others(name))
    await agree(others('sequencer'))
    await net.command('link all loss=1%')
    await agree(others('sequencer'))
    await net.command('heal')
    await agree(others('sequencer'))
  })
})
