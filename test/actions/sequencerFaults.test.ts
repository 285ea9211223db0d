import { afterEach, describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { metricValue } from '../../src/lib/testUtils/metricValue.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { PayloadEnvelope } from '../../src/rollup/protocol/index.ts'
import { TestChain } from './harness.ts'

let chain: TestChain
afterEach(() => chain.close())

/** Numbers of the published blocks; throws when two of one height were published. */
function publishedNumbers(published: readonly PayloadEnvelope[]): number[] {
  const numbers = published.map(({ payload }) => payload.blockNumber)
  expect(new Set(numbers).size).toBe(numbers.length)
  return numbers
}

describe('sequencer on an engine that has lost its tip', () => {
  it('continues within seconds on its published blocks', async () => {
    chain = new TestChain()
    const { node, engine, p2p } = await chain.addNode({ sequencing: {} })
    await chain.advance(6)
    engine.loseTip(3)
    await chain.advance(4)
    await until(() => node.syncStatus().unsafeL2.number === 10)
    expect(publishedNumbers(p2p.published)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    for (const { payload } of p2p.published) {
      expect((await engine.payloadByNumber(payload.blockNumber))?.payload.blockHash).toBe(payload.blockHash)
    }
  })

  it('does not restore a block whose L1 origin was reorged', async () => {
    chain = new TestChain()
    const { node, engine, p2p } = await chain.addNode({ sequencing: {} })
    await chain.advance(8)
    expect(node.syncStatus().unsafeL2.l1Origin.number).toBe(3)
    engine.loseTip(2)
    chain.l1.rewind(1)
    for (let mined = 0; mined < 4; mined++) chain.l1.mine()
    await chain.advance(5)
    const { unsafeL2 } = node.syncStatus()
    expect(unsafeL2.number).toBe(13)
    expect(unsafeL2.l1Origin.hash).toBe(chain.l1.at(unsafeL2.l1Origin.number).hash)
    // Blocks up to 4 or so stand on origins that are still there.
    expect((await engine.payloadByNumber(3))?.payload.blockHash).toBe(p2p.published[2]?.payload.blockHash)
  })

  it('does not replace the block of another sequencer', async () => {
    chain = new TestChain()
    const first = await chain.addNode({ sequencing: {} })
    await chain.advance(4)
    const second = await chain.addNode({ sequencing: {}, engine: first.engine.clone() })
    await chain.advance(2)
    const own = first.p2p.published.length
    first.engine.loseTip(4)
    await first.node.stopSequencer()
    await first.node.resetDerivationPipeline()
    for (const envelope of second.p2p.published) first.p2p.receive(envelope)
    await chain.advance(1)
    expect(first.p2p.published).toHaveLength(own)
    expect(first.engine.label('latest')).toBe(second.p2p.published.at(-2)?.payload.blockHash)
  })
})

describe('sequencer on an engine that takes a head but not its children', () => {
  it('continues when blocks are accepted again, without a reset every second', async () => {
    chain = new TestChain()
    const { node, engine, p2p, registry } = await chain.addNode({ sequencing: {} })
    await chain.advance(3)
    const resets = async () => (await metricValue(registry, 'op_node_default_pipeline_resets_total')) ?? Number.NaN
    const resetsBefore = await resets()
    engine.faults.newPayload = () => ({ status: 'SYNCING' })
    await chain.advance(60)
    expect(node.syncStatus().unsafeL2.number).toBe(3)
    expect((await resets()) - resetsBefore).toBeLessThan(12)
    delete engine.faults.newPayload
    await chain.advance(12)
    expect(node.syncStatus().unsafeL2.number).toBe(75)
    expect(publishedNumbers(p2p.published).at(-1)).toBe(75)
  })

  it('continues within seconds after the engine answered SYNCING to block requests', async () => {
    chain = new TestChain()
    const { node, engine } = await chain.addNode({ sequencing: {} })
    await chain.advance(3)
    engine.faults.forkchoiceUpdated = (_, attributes) =>
      attributes === undefined ? undefined : { payloadStatus: { status: 'SYNCING' } }
    await chain.advance(3)
    delete engine.faults.forkchoiceUpdated
    await chain.advance(4)
    expect(node.syncStatus().unsafeL2.number).toBe(10)
  })

  it('calls an engine that answers SYNCING rarely, but at least twice a minute', async () => {
    chain = new TestChain()
    const { node, engine } = await chain.addNode({ sequencing: {} })
    await chain.advance(3)
    engine.faults.forkchoiceUpdated = (_, attributes) =>
      attributes === undefined ? undefined : { payloadStatus: { status: 'SYNCING' } }
    const before = engine.calls.filter((call) => call === 'forkchoice+').length
    await chain.advance(120)
    const attempts = engine.calls.filter((call) => call === 'forkchoice+').length - before
    expect(attempts).toBeGreaterThanOrEqual(6)
    expect(attempts).toBeLessThan(12)
    delete engine.faults.forkchoiceUpdated
    await chain.advance(31)
    expect(node.syncStatus().unsafeL2.number).toBe(154)
  })
})

describe('sequencer on an engine that refuses', () => {
  it('its sealed block: builds another block after a block time', async () => {
    chain = new TestChain()
    const { node, engine } = await chain.addNode({ sequencing: {} })
    await chain.advance(2)
    engine.faults.newPayload = () => {
      delete engine.faults.newPayload
      return { status: 'INVALID', validationError: 'out of memory' }
    }
    await chain.advance(4)
    expect(node.syncStatus().unsafeL2.number).toBe(6)
  })

  it('block attributes: sends them again after a block time', async () => {
    chain = new TestChain()
    const { node, engine } = await chain.addNode({ sequencing: {} })
    await chain.advance(2)
    let refusals = 2
    engine.faults.forkchoiceUpdated = (_, attributes) => {
      if (attributes === undefined || refusals-- <= 0) return undefined
      throw new JsonRpcError(-38003, 'Invalid payload attributes')
    }
    await chain.advance(6)
    expect(refusals).toBeLessThan(0)
    expect(node.syncStatus().unsafeL2.number).toBe(8)
  })
})

describe('sequencer on an L1', () => {
  it.each([1, 10, 64])('with a reorg of %i blocks: moves to the new blocks within seconds', async (depth) => {
    chain = new TestChain()
    const { node, engine, failure } = await chain.addNode({ sequencing: {} })
    await chain.advance(2 * (depth + 4))
    const top = chain.l1.head.number
    const before = node.syncStatus().unsafeL2.number
    const kept = await engine.blockRefByNumber(2 * (top - depth))
    chain.l1.rewind(top - depth)
    for (let mined = 0; mined < depth + 1; mined++) chain.l1.mine()
    await chain.advance(8)
    const { unsafeL2 } = node.syncStatus()
    await until(() => node.syncStatus().unsafeL2.number >= before + 7)
    expect(unsafeL2.l1Origin.hash).toBe(chain.l1.at(unsafeL2.l1Origin.number).hash)
    // Blocks whose origins are still there stay.
    expect((await engine.blockRefByNumber(kept?.number ?? 0))?.hash).toBe(kept?.hash)
    expect(failure).toBeUndefined()
  })

  it('that is unavailable for a while: continues with its current origin', async () => {
    chain = new TestChain()
    const { node } = await chain.addNode({ sequencing: {} })
    await chain.advance(4)
    const readHash = chain.l1.blockInfoByHash.bind(chain.l1)
    const readNumber = chain.l1.blockInfoByNumber.bind(chain.l1)
    chain.l1.blockInfoByNumber = () => Promise.reject(new Error('no connection'))
    await chain.advance(20)
    expect(node.syncStatus().unsafeL2.number).toBeGreaterThanOrEqual(23)
    expect(node.syncStatus().unsafeL2.l1Origin.number).toBeLessThanOrEqual(3)
    chain.l1.blockInfoByHash = readHash
    chain.l1.blockInfoByNumber = readNumber
    await chain.advance(30)
    expect(node.syncStatus().unsafeL2.number).toBe(54)
    expect(node.syncStatus().unsafeL2.l1Origin.number).toBeGreaterThan(20)
  })
})
