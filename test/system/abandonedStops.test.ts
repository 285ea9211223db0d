import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { abandonStops } from '../support/abandonedStops.ts'
import { startDeviumGeth } from '../support/deviumGeth.ts'
import { handOver, missing } from '../support/heads.ts'
import { newestForkKnownTo } from '../support/knownForks.ts'
import { startOpNode } from '../support/opNode.ts'
import { stopPrograms } from '../support/programs.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { SubmitterChain, type SubmitterChainOptions } from '../support/submitterChain.ts'

// Callers stop a batch submitter and disconnect after a second. A few rounds with our sequencer; 20 with DEVIUM_LONG_FAULTS=all,
// and 20 with an op-node sequencer on devium-geth with DEVIUM_OP_NODE=/path/to/op-node.
const { DEVIUM_OP_NODE: opNode, DEVIUM_LONG_FAULTS: long } = process.env
/** op-node before 1.19.1 lists Karst, but requests its payloads by the previous fork's method. */
const SEQUENCED_BY_ALL = 'jovian'
const MANY = 20
const FEW = 2

async function expectAllSaved(options: Omit<SubmitterChainOptions, 'l1BlockTime'>, rounds: number): Promise<void> {
  const chain = await SubmitterChain.start({ l1BlockTime: 2, ...options })
  try {
    const report = await abandonStops(chain, rounds)
    console.log(JSON.stringify(report))
    expect(report).toMatchObject({ missing: [], gaps: [], complaints: [] })
    expect(report.abandoned).toBeGreaterThan(0)
  } finally {
    await chain.stop()
  }
}

it('saves all blocks to L1 when the caller of a stop leaves', async () => {
  await expectAllSaved({}, long === 'all' ? MANY : FEW)
}, 900_000)

it.skipIf(opNode === undefined)(
  opNode === undefined ? 'beside op-node (skipped: DEVIUM_OP_NODE names no binary)' : 'beside op-node',
  async () => {
    const directory = mkdtempSync(join(tmpdir(), 'devium-abandoned-stops-'))
    const { connectTo, close } = createRpcClients()
    try {
      const args = ['--fork', newestForkKnownTo({ opNode: opNode ?? '', limit: SEQUENCED_BY_ALL })]
      const toOpNode: SubmitterChainOptions['handOver'] = async (testnet) => {
        const geth = await startDeviumGeth(testnet.joinDir, directory)
        const rollupRpc = await startOpNode(opNode ?? '', geth, testnet, directory)
        const [ours, theirs] = [connectTo(testnet.nodes[0]?.rollupRpc), connectTo(rollupRpc)]
        await expect.poll(() => missing(ours, theirs)).toBeLessThanOrEqual(1)
        await handOver(ours, theirs)
        return { rollupRpc, ethRpc: geth.rpcUrl }
      }
      await expectAllSaved({ args, handOver: toOpNode }, MANY)
    } finally {
      await close()
      await stopPrograms()
      rmSync(directory, { recursive: true, force: true })
    }
  },
  900_000,
)
