import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { startDeviumGeth } from '../support/deviumGeth.ts'
import { expectSameOutput, heads } from '../support/heads.ts'
import { newestForkKnownTo } from '../support/knownForks.ts'
import { startOpNode } from '../support/opNode.ts'
import { stopPrograms } from '../support/programs.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// A real op-node derives our chain from the same L1, with the blobs that the runner serves. Not through Amsterdam: an op-node
// of June 2026 stands still there. Needs binaries: DEVIUM_GETH=/path/to/geth (go-ethereum, 1.17.10 or newer)
// DEVIUM_OP_NODE=/path/to/op-node.
const { DEVIUM_GETH: geth, DEVIUM_OP_NODE: opNode } = process.env
const isSkipped = geth === undefined || opNode === undefined
const title = isSkipped
  ? 'op-node on go-ethereum as the L1 (skipped: DEVIUM_GETH and DEVIUM_OP_NODE name no binaries)'
  : 'op-node on go-ethereum as the L1'

const directory = mkdtempSync(join(tmpdir(), 'devium-geth-l1-op-node-'))
const { connectTo, close } = createRpcClients()
let testnet: RunningTestnet
let ours: RpcClient
let theirs: RpcClient

describe.skipIf(isSkipped)(title, () => {
  beforeAll(async () => {
    const fork = newestForkKnownTo({ opNode: opNode ?? '' })
    const args = ['--fork', fork, '--da', 'blobs', '--l1-client', `geth=${geth}`]
    testnet = await startTestnet({ nodes: 1, args })
    ours = connectTo(testnet.nodes[0]?.rollupRpc)
    const execution = await startDeviumGeth(testnet.joinDir, directory)
    theirs = connectTo(await startOpNode(opNode ?? '', execution, testnet, directory, testnet.l1.beacon))
  })
  afterAll(async () => {
    await stopPrograms()
    await close()
    await testnet?.stop()
    rmSync(directory, { recursive: true, force: true })
  })

  it('op-node derives the same chain from the blobs', async () => {
    const target = (await heads(ours)).unsafe_l2.number
    await expect.poll(async () => (await heads(theirs)).safe_l2.number).toBeGreaterThan(target)
    await expectSameOutput(ours, theirs)
  })
})
