import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { expectSameOutput, heads, missing } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// Nodes of others inside a testnet (--client), and the commands that hurt them. Needs binaries of op-node of 2026 and of
// op-geth: DEVIUM_OP_NODE=/path/to/op-node DEVIUM_OP_GETH=/path/to/geth.
const { DEVIUM_OP_NODE: opNode, DEVIUM_OP_GETH: opGeth } = process.env
const isComplete = opNode !== undefined && opGeth !== undefined
const title = isComplete
  ? 'a testnet with op-node and op-geth'
  : 'a testnet with op-node and op-geth (skipped: DEVIUM_OP_NODE and DEVIUM_OP_GETH name no binaries)'

const clients = createRpcClients()
let net: RunningTestnet
let ours: RpcClient
let theirs: RpcClient

describe.skipIf(!isComplete)(title, { shuffle: false }, () => {
  beforeAll(async () => {
    const chosen = [`verifier1=op-node:${opNode}`, `verifier1=op-geth:${opGeth}`, `verifier2=op-node:${opNode}`]
    net = await startTestnet({ nodes: 3, args: ['--fork', 'jovian', '--client', chosen.join(',')] })
    ours = clients.connectTo(net.nodes[0]?.rollupRpc)
    theirs = clients.connectTo(net.nodes[1]?.rollupRpc)
  })
  afterAll(async () => {
    await clients.close()
    await net?.stop()
  })

  const behind = async () => (await heads(ours)).unsafe_l2.number - (await heads(theirs)).unsafe_l2.number
  const connected = async (node: RpcClient) =>
    ((await node.request('opp2p_peerStats', [])) as { connected: number }).connected

  it('lists the clients, and what they do not support', async () => {
    expect(net.nodes.map((node) => node.clients)).toEqual([
      undefined,
      { rollup: 'op-node', execution: 'op-geth' },
      { rollup: 'op-node' },
    ])
    const warnings = net.events.flatMap((event) => (event.event === 'warning' ? [event.message] : []))
    expect(warnings.join('\n')).toMatch(/verifier1 \(op-node, op-geth\): op-node has no health verdict/)
    const names = Object.values((await ours.request('deviump2p_names', [])) as Record<string, string>)
    expect(names).toContain('verifier1.op-node')
    await expect(net.command('clock verifier1 +5s')).rejects.toThrow('verifier1')
  })

  it('partitions and heals them: gossip stops, then continues', async () => {
    await expect.poll(() => connected(ours)).toBe(2)
    await net.command('partition sequencer')
    await expect.poll(() => connected(ours)).toBe(0)
    await expect.poll(behind).toBeGreaterThan(1)
    await expect(net.command('link sequencer-verifier1 delay=1s')).rejects.toThrow('verifier1')
    await net.command('heal')
    await expect.poll(() => connected(ours)).toBe(2)
    await expect.poll(behind).toBeLessThanOrEqual(1)
  })

  it('kills and starts them, and makes one of them the sequencer', async () => {
    await net.command('kill verifier1')
    await net.command('start verifier1')
    const catchesUp = () => missing(ours, theirs).catch(() => Number.POSITIVE_INFINITY)
    await expect.poll(catchesUp).toBeLessThanOrEqual(1)
    await net.command('sequencer move verifier1')
    const made = (await heads(theirs)).unsafe_l2.number
    await expect.poll(async () => (await heads(ours)).unsafe_l2.number).toBeGreaterThan(made + 2)
    await net.command('sequencer move sequencer')
    await expectSameOutput(ours, theirs)
  })

  it('restores a snapshot with all of them', async () => {
    await net.command('snapshot mixed')
    const head = (await heads(ours)).unsafe_l2.number
    await net.command('restore mixed')
    await expect.poll(async () => (await heads(theirs)).safe_l2.number).toBeGreaterThan(head)
    await expectSameOutput(ours, theirs)
  })
})
