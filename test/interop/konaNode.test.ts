import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { expectSameOutput, handOver, heads, missing, mostBehind, scores } from '../support/heads.ts'
import { newestForkKnownTo } from '../support/knownForks.ts'
import { startKonaNode } from '../support/konaNode.ts'
import { startOpGeth } from '../support/opGeth.ts'
import { startOpNode } from '../support/opNode.ts'
import { stopPrograms } from '../support/programs.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// kona-node (from 1.6.3 on, which has op-node's message ids) and op-node, with a node of ours between them. Kona derives nothing before its execution client has synced, which that does from op-node's. Needs
// binaries: DEVIUM_KONA_NODE=/path/to/kona-node DEVIUM_OP_NODE=/path/to/op-node DEVIUM_OP_GETH=/path/to/geth.
const { DEVIUM_KONA_NODE: konaNode, DEVIUM_OP_NODE: opNode, DEVIUM_OP_GETH: opGeth } = process.env
const isComplete = konaNode !== undefined && opNode !== undefined && opGeth !== undefined
const missingNames = 'DEVIUM_KONA_NODE, DEVIUM_OP_NODE and DEVIUM_OP_GETH name no binaries'
const fork = isComplete ? newestForkKnownTo({ opNode, opGeth }) : ''
const title = isComplete
  ? `between kona-node and op-node, ${fork}`
  : `between kona-node and op-node (skipped: ${missingNames})`

const directory = mkdtempSync(join(tmpdir(), 'devium-kona-'))
/** In that time peers with other message ids break promises, and scores fall below their thresholds. */
const IDS_PART_AFTER_MS = 75_000
const { connectTo, close } = createRpcClients()
let testnet: RunningTestnet
let ours: RpcClient
let op: RpcClient
let kona: RpcClient

function directoryOf(name: string): string {
  const path = join(directory, name)
  mkdirSync(path)
  return path
}

describe.skipIf(!isComplete)(title, () => {
  beforeAll(async () => {
    testnet = await startTestnet({ nodes: 1, args: ['--fork', fork] })
    ours = connectTo(testnet.nodes[0]?.rollupRpc)
    const [opDirectory, konaDirectory] = [directoryOf('op'), directoryOf('kona')]
    const opsGeth = await startOpGeth(opGeth ?? '', testnet.joinDir, opDirectory)
    op = connectTo(await startOpNode(opNode ?? '', opsGeth, testnet, opDirectory))
    const konasGeth = await startOpGeth(opGeth ?? '', testnet.joinDir, konaDirectory, opsGeth)
    kona = connectTo(await startKonaNode(konaNode ?? '', konasGeth, testnet, konaDirectory))
    const self = await until(() => kona.request('opp2p_self', []))
    const { addresses } = self as { addresses: string[] }
    await ours.request('opp2p_connectPeer', [addresses[0]])
  })

  afterAll(async () => {
    await stopPrograms()
    await close()
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it("delivers op-node's blocks to kona-node, which derives the same chain", async () => {
    await expect.poll(() => missing(ours, op)).toBeLessThanOrEqual(1)
    await expect.poll(() => missing(ours, kona)).toBeLessThanOrEqual(1)
    await handOver(ours, op)
    const startMs = performance.now()
    while (performance.now() - startMs < IDS_PART_AFTER_MS) {
      expect(await mostBehind(op, kona, 5)).toBeLessThanOrEqual(2)
    }
    await handOver(op, ours)
    expect(await mostBehind(ours, kona, 10)).toBeLessThanOrEqual(2)
    await expect.poll(async () => (await heads(kona)).safe_l2.number).toBeGreaterThan(60)
    await expectSameOutput(ours, kona)
    for (const score of await scores(ours)) expect(score).toBeGreaterThanOrEqual(0)
    for (const score of await scores(kona)) expect(score).toBeGreaterThanOrEqual(0)
  })
})
