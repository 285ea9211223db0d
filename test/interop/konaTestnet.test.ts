import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { expectSameOutput, heads } from '../support/heads.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// kona-node on devium-geth inside a testnet. Needs a binary: DEVIUM_KONA_NODE=/path/to/kona-node.
const { DEVIUM_KONA_NODE: konaNode } = process.env
const title =
  konaNode === undefined
    ? 'a testnet with kona-node (skipped: DEVIUM_KONA_NODE names no binary)'
    : 'a testnet with kona-node'

const clients = createRpcClients()
let net: RunningTestnet
let ours: RpcClient
let kona: RpcClient

describe.skipIf(konaNode === undefined)(title, { shuffle: false }, () => {
  beforeAll(async () => {
    net = await startTestnet({ nodes: 2, args: ['--client', `verifier1=kona:${konaNode}`] })
    ours = clients.connectTo(net.nodes[0]?.rollupRpc)
    kona = clients.connectTo(net.nodes[1]?.rollupRpc)
  })
  afterAll(async () => {
    await clients.close()
    await net?.stop()
  })

  const safeOf = async (node: RpcClient) => (await heads(node)).safe_l2.number
  /** Its safe head passes the present unsafe head of the sequencer. */
  const expectItFollows = async () => {
    const head = (await heads(ours)).unsafe_l2.number
    await expect.poll(() => safeOf(kona).catch(() => 0)).toBeGreaterThan(head)
    await expectSameOutput(ours, kona)
  }

  it('derives the same chain', async () => {
    expect(net.nodes[1]?.clients).toEqual({ rollup: 'kona' })
    await expectItFollows()
  })

  it('follows again after a kill, with the blocks that it missed', async () => {
    await net.command('kill verifier1')
    const head = (await heads(ours)).unsafe_l2.number
    await expect.poll(async () => (await heads(ours)).unsafe_l2.number).toBeGreaterThan(head + 3)
    await net.command('start verifier1')
    await expectItFollows()
  })

  it('follows again after a restored snapshot', async () => {
    await net.command('snapshot kona')
    await net.command('restore kona')
    await expectItFollows()
  })
})
