import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../src/lib/testUtils/until.ts'
import { SafeHeadDb } from '../../src/rollup/node/safeHeadDb.ts'
import { TestChain, type TestNode } from './harness.ts'

let chain: TestChain
let folder: string
let safeHeads: SafeHeadDb

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'devium-safe-heads-'))
  safeHeads = await SafeHeadDb.open(folder)
  chain = new TestChain()
})
afterEach(async () => {
  await chain.close()
  await safeHeads.close()
  rmSync(folder, { recursive: true })
})

/** A verifier that has derived blocks 1 to 4 and 5 to 8 from two L1 blocks. */
async function derive(): Promise<{ verifier: TestNode; sequencer: TestNode; first: number; second: number }> {
  const sequencer = await chain.addNode({ sequencing: {} })
  const verifier = await chain.addNode({ safeHeads })
  await chain.advance(8)
  const blocks = sequencer.p2p.published
  const first = chain.l1.mine([chain.batchOf(blocks.slice(0, 4))]).number
  chain.l1.mine()
  const second = chain.l1.mine([chain.batchOf(blocks.slice(4))]).number
  chain.l1.mine()
  await until(() => verifier.node.syncStatus().safeL2.number === 8)
  return { verifier, sequencer, first, second }
}

const numbersAt = async ({ node }: TestNode, l1Number: number) => {
  const { l1Block, safeHead } = await node.safeHeadAtL1Block(l1Number)
  return [l1Block.number, safeHead.number]
}

describe('safe head database', () => {
  it('returns the safe block after an L1 block, with genesis for the first', async () => {
    const { verifier, first, second } = await derive()
    expect(await numbersAt(verifier, 0)).toEqual([0, 0])
    expect(await numbersAt(verifier, first - 1)).toEqual([0, 0])
    expect(await numbersAt(verifier, first)).toEqual([first, 4])
    expect(await numbersAt(verifier, second - 1)).toEqual([first, 4])
    expect(await numbersAt(verifier, second + 50)).toEqual([second, 8])
    const { l1Block, safeHead } = await verifier.node.safeHeadAtL1Block(first)
    expect(l1Block.hash).toBe(chain.l1.at(first).hash)
    expect(safeHead.hash).toBe((await verifier.engine.payloadByNumber(4))?.payload.blockHash)
  })

  it('follows an L1 reorg', async () => {
    const { verifier, sequencer, first, second } = await derive()
    chain.l1.rewind(second - 1)
    chain.l1.mine()
    const later = chain.l1.mine([chain.batchOf(sequencer.p2p.published.slice(4, 6))]).number
    chain.l1.mine()
    await until(() => verifier.node.syncStatus().safeL2.number === 6)
    await until(() => verifier.node.syncStatus().currentL1.hash === chain.l1.head.hash)
    expect(await numbersAt(verifier, second)).toEqual([first, 4])
    expect(await numbersAt(verifier, later)).toEqual([later, 6])
    expect((await verifier.node.safeHeadAtL1Block(later)).l1Block.hash).toBe(chain.l1.at(later).hash)
  })

  it('is written before a reported block becomes final, and answers "not found" before its first entry', async () => {
    const { verifier, first, second } = await derive()
    chain.l1.finalize(second)
    await until(() => verifier.node.syncStatus().finalizedL2.number === 8)
    // What a second process would find: nothing is left in memory only.
    await safeHeads.close()
    safeHeads = await SafeHeadDb.open(folder)
    expect(await safeHeads.at(first)).toMatchObject({ l1: { number: first }, safe: { number: 4 } })
    expect(await safeHeads.tip()).toMatchObject({ number: 8 })
    await safeHeads.clear()
    const restarted = await chain.addNode({ engine: verifier.engine.clone(), safeHeads })
    await expect(restarted.node.safeHeadAtL1Block(first)).rejects.toThrow(/^not found$/)
  })
})
