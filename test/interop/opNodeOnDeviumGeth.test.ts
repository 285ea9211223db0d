import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { startDeviumGeth } from '../support/deviumGeth.ts'
import { expectSameOutput, handOver, heads, missing, mostBehind } from '../support/heads.ts'
import { newestForkKnownTo } from '../support/knownForks.ts'
import { startOpNode } from '../support/opNode.ts'
import { stopPrograms } from '../support/programs.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A real op-node that drives devium-geth: no op-geth runs the newest fork that op-node knows. Needs a binary of op-node,
// of 2024 or of 2026: DEVIUM_OP_NODE=/path/to/op-node.
const opNode = process.env.DEVIUM_OP_NODE
const fork = opNode === undefined ? '' : newestForkKnownTo({ opNode })
const title =
  opNode === undefined
    ? 'op-node on devium-geth (skipped: DEVIUM_OP_NODE names no binary)'
    : `op-node on devium-geth, ${fork}`

const directory = mkdtempSync(join(tmpdir(), 'devium-op-node-geth-'))
const { connectTo, close } = createRpcClients()
let testnet: RunningTestnet
let ours: RpcClient
let theirs: RpcClient

describe.skipIf(opNode === undefined)(title, () => {
  beforeAll(async () => {
    testnet = await startTestnet({ nodes: 1, args: ['--fork', fork] })
    ours = connectTo(testnet.nodes[0]?.rollupRpc)
    const geth = await startDeviumGeth(testnet.joinDir, directory)
    // Over a WebSocket, as in op-node's tutorials. Other tests drive the Engine API over HTTP.
    const overWebSocket = { ...geth, engineUrl: geth.engineUrl.replace('http', 'ws') }
    theirs = connectTo(await startOpNode(opNode ?? '', overWebSocket, testnet, directory))
  })

  afterAll(async () => {
    await stopPrograms()
    await close()
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('op-node follows our blocks and derives the same chain', async () => {
    await expect.poll(() => missing(ours, theirs)).toBeLessThanOrEqual(1)
    await expect.poll(async () => (await heads(theirs)).safe_l2.number).toBeGreaterThan(10)
    await expectSameOutput(ours, theirs)
  })

  it('op-node makes blocks that our nodes follow', async () => {
    await handOver(ours, theirs)
    expect(await mostBehind(theirs, ours, 10)).toBeLessThanOrEqual(2)
    await handOver(theirs, ours)
    expect(await mostBehind(ours, theirs, 5)).toBeLessThanOrEqual(2)
    await expectSameOutput(ours, theirs)
  })
})
