import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { expectSameOutput, handOver, missing, mostBehind, scores } from '../support/heads.ts'
import { newestForkKnownTo } from '../support/knownForks.ts'
import { startOpGeth } from '../support/opGeth.ts'
import { startOpNode } from '../support/opNode.ts'
import { stopPrograms } from '../support/programs.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A real op-node in our network, first as a follower, then as the sequencer that ours follow. Needs binaries of op-node
// and op-geth, of 2024 or of 2026: DEVIUM_OP_NODE=/path/to/op-node DEVIUM_OP_GETH=/path/to/geth.
const { DEVIUM_OP_NODE: opNode, DEVIUM_OP_GETH: opGeth } = process.env
const isComplete = opNode !== undefined && opGeth !== undefined
const fork = isComplete ? newestForkKnownTo({ opNode, opGeth }) : ''
const title = isComplete
  ? `with op-node, ${fork}`
  : 'with op-node (skipped: DEVIUM_OP_NODE and DEVIUM_OP_GETH name no binaries)'

const directory = mkdtempSync(join(tmpdir(), 'devium-op-node-'))
/** From then on op-node of 2024 punishes every peer for the silence of the pre-Canyon topic, and prunes it. */
const OP_NODE_PRUNES_AFTER_MS = 55_000
const { connectTo, close } = createRpcClients()
let testnet: RunningTestnet
let sequencer: RpcClient
let verifier: RpcClient
let theirs: RpcClient

describe.skipIf(!isComplete)(title, () => {
  beforeAll(async () => {
    testnet = await startTestnet({ nodes: 2, args: ['--fork', fork] })
    sequencer = connectTo(testnet.nodes[0]?.rollupRpc)
    verifier = connectTo(testnet.nodes[1]?.rollupRpc)
    const geth = await startOpGeth(opGeth ?? '', testnet.joinDir, directory)
    theirs = connectTo(await startOpNode(opNode ?? '', geth, testnet, directory))
  })

  afterAll(async () => {
    await stopPrograms()
    await close()
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('op-node gets our blocks by gossip, also after it pruned us, and has no bad score', async () => {
    await expect.poll(() => missing(sequencer, theirs)).toBeLessThanOrEqual(1)
    const joinedMs = performance.now()
    while (performance.now() - joinedMs < OP_NODE_PRUNES_AFTER_MS) {
      expect(await mostBehind(sequencer, theirs, 5)).toBeLessThanOrEqual(2)
    }
    expect(await mostBehind(sequencer, theirs, 15)).toBeLessThanOrEqual(2)
    for (const score of await scores(sequencer)) expect(score).toBeGreaterThanOrEqual(0)
    // Its threshold for gossip is -10.
    for (const score of await scores(theirs)) expect(score).toBeGreaterThan(-10)
  })

  it('sequencing moves to op-node and back, and our nodes follow its blocks', async () => {
    await handOver(sequencer, theirs)
    expect(await mostBehind(theirs, verifier, 20)).toBeLessThanOrEqual(2)
    await handOver(theirs, sequencer)
    expect(await mostBehind(sequencer, theirs, 5)).toBeLessThanOrEqual(2)
    await expectSameOutput(sequencer, theirs)
    for (const score of await scores(verifier)) expect(score).toBeGreaterThanOrEqual(0)
  })
})
