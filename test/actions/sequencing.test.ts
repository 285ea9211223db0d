import { afterEach, describe, expect, it } from 'vitest'
import { settle, TestChain } from './harness.ts'

let chain: TestChain
afterEach(() => chain.close())

describe('sequencer', () => {
  it('makes one block a second and advances the origin with L1', async () => {
    chain = new TestChain()
    const { node, engine, p2p } = await chain.addNode({ sequencing: {} })
    await chain.advance(10)
    const { unsafeL2 } = node.syncStatus()
    // The block of second 11 is sealed 50 ms before it: at second 10 the head is block 10.
    expect(unsafeL2.number).toBe(10)
    expect(unsafeL2.timestamp).toBe(chain.config.genesis.l2Time + 10)
    expect(unsafeL2.l1Origin.number).toBe(4)
    expect(engine.label('latest')).toBe(unsafeL2.hash)
    expect(p2p.published.map(({ payload }) => payload.blockNumber)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    await settle()
  })
})
