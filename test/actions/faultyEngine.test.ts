import { describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { PayloadEnvelope } from '../../src/rollup/protocol/index.ts'
import { untilIdle } from './harness.ts'
import { at, startBoth, variantOf } from './verifier.ts'

describe('a faulty engine', () => {
  it('that accepts its head but not its children is called with growing pauses, and keeps its heads', async () => {
    const { chain, verifier, blocks } = await startBoth(4)
    for (const block of blocks.slice(0, 3)) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 3)
    verifier.engine.faults.newPayload = () => ({ status: 'SYNCING' })
    verifier.engine.calls.length = 0
    verifier.p2p.receive(at(blocks, 4))
    await untilIdle()
    await chain.clock.advance(60_000)
    await untilIdle()
    // A try at once, then after 1, 2, 4, 8 seconds and each 10.
    expect(verifier.engine.calls.filter((call) => call === 'newPayload').length).toBeGreaterThanOrEqual(8)
    expect(verifier.engine.calls.length).toBeLessThanOrEqual(12)
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(3)
    verifier.engine.faults.newPayload = () => undefined
    await chain.clock.advance(11_000)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 4)
  })

  it('that refuses every derived block is called with growing pauses, and L1 is read once', async () => {
    const { chain, verifier, blocks } = await startBoth(4)
    verifier.engine.faults.newPayload = () => ({ status: 'SYNCING' })
    verifier.engine.calls.length = 0
    chain.l1.mine([chain.batchOf(blocks)])
    await untilIdle()
    await chain.clock.advance(60_000)
    await untilIdle()
    expect(verifier.engine.calls.length).toBeLessThanOrEqual(40)
    expect(verifier.engine.calls.filter((call) => call === 'newPayload').length).toBeGreaterThanOrEqual(8)
    verifier.engine.faults.newPayload = () => undefined
    await chain.clock.advance(11_000)
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
  })

  it('that loses its tip repeatedly is reset with growing pauses', async () => {
    const { chain, verifier, blocks } = await startBoth(4)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 2))])
    await until(() => verifier.node.syncStatus().safeL2.number === 2)
    // Each block is taken and forgotten, as by an engine whose disk takes nothing.
    const empty = chain.createEngine()
    const { engine } = verifier
    engine.blockRefByLabel = (label) => empty.blockRefByLabel(label)
    engine.blockRefByNumber = (number) => empty.blockRefByNumber(number)
    engine.faults.newPayload = () => ({ status: 'SYNCING' })
    engine.calls.length = 0
    verifier.p2p.receive(at(blocks, 3))
    chain.l1.mine([chain.batchOf(blocks.slice(2))])
    await untilIdle()
    await chain.clock.advance(60_000)
    await untilIdle()
    expect(engine.calls.length).toBeLessThanOrEqual(80)
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(0)
    expect(verifier.failure).toBeUndefined()
  })

  it('that lost its tip in a restart is continued from its head', async () => {
    const { chain, sequencer } = await startBoth(4)
    const { engine } = sequencer
    const shorter = chain.createEngine()
    for (const block of sequencer.p2p.published.slice(0, 2)) await shorter.newPayload(block)
    const second = at(sequencer.p2p.published, 2).payload.blockHash
    const zero = chain.config.genesis.l2.hash
    await shorter.forkchoiceUpdated({ headBlockHash: second, safeBlockHash: zero, finalizedBlockHash: zero })
    engine.restartAs(shorter)
    await chain.advance(6)
    expect(sequencer.failure).toBeUndefined()
    expect(sequencer.node.syncStatus().unsafeL2.number).toBeGreaterThanOrEqual(9)
    // The sequencer gives it the blocks that peers have already, and makes no others of their height.
    const third = sequencer.p2p.published.filter(({ payload }) => payload.blockNumber === 3)
    expect(third).toHaveLength(1)
    expect((await engine.payloadByNumber(3))?.payload.blockHash).toBe(third[0]?.payload.blockHash)
  })

  it('with a block whose origin does not follow is rewound below the block', async () => {
    const { chain, verifier, sequencer, blocks } = await startBoth(6)
    const origin = chain.l1.at(2)
    const child = (parent: PayloadEnvelope, like: PayloadEnvelope) =>
      sequencer.engine.build(parent, {
        timestamp: like.payload.timestamp,
        prevRandao: like.payload.prevRandao,
        suggestedFeeRecipient: like.payload.feeRecipient,
        transactions: like.payload.transactions,
        noTxPool: true,
        gasLimit: like.payload.gasLimit,
        withdrawals: [],
        parentBeaconBlockRoot: like.parentBeaconBlockRoot ?? origin.hash,
        eip1559Params: '0x0000000000000000',
      })
    // Block 3 takes the place of block 2: its sequence number and origin are not those of a child of block 1.
    const late = blocks.find(({ payload }) => payload.blockNumber === 5) ?? at(blocks, 5)
    const bad = child(at(blocks, 1), late)
    for (const block of [at(blocks, 1), bad]) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.hash === bad.payload.blockHash)
    await verifier.node.resetDerivationPipeline()
    expect(verifier.failure).toBeUndefined()
    expect(verifier.node.syncStatus().unsafeL2.hash).toBe(at(blocks, 1).payload.blockHash)
    const restarted = await chain.addNode({ engine: verifier.engine.clone() })
    expect(restarted.failure).toBeUndefined()
  })
})

describe('attributes that the engine refuses in the forkchoice update', () => {
  it.each([
    { id: 'by an error', refuse: () => raise(new JsonRpcError(-38003, 'Invalid payload attributes')) },
    {
      id: 'as INVALID',
      refuse: () => ({ payloadStatus: { status: 'INVALID' as const, validationError: 'invalid transaction' } }),
    },
  ])('become a deposits-only block from Holocene on, without a reset: $id', async ({ refuse }) => {
    const { chain, verifier, sequencer, blocks } = await startBoth(8)
    const bad = variantOf(sequencer.engine, at(blocks, 4), at(blocks, 5))
    let refusals = 0
    verifier.engine.faults.forkchoiceUpdated = (_state, attributes) => {
      if (!attributes?.transactions.some((transaction) => transaction[1] === 77)) return undefined
      refusals++
      return refuse()
    }
    const { lastReset } = verifier.node.derivationStatus().record
    chain.l1.mine([chain.batchOf([...blocks.slice(0, 4), bad, ...blocks.slice(5)])])
    await until(() => verifier.node.syncStatus().safeL2.number === 5)
    await untilIdle()
    expect((await verifier.engine.payloadByNumber(5))?.payload.transactions).toHaveLength(1)
    // Once beside the block before, once by itself.
    expect(refusals).toBeLessThanOrEqual(2)
    expect(verifier.node.derivationStatus().record.lastReset).toEqual(lastReset)
    // The rest of the channel is gone; the chain goes on with the next one.
    expect(verifier.node.syncStatus().safeL2.number).toBe(5)
  })
})

function raise(error: Error): never {
  throw error
}

describe('invalid blocks', () => {
  it('are replaced by deposits-only blocks from Holocene on, and derivation continues', async () => {
    const { chain, verifier, sequencer, blocks } = await startBoth(3)
    const bad = variantOf(sequencer.engine, at(blocks, 1), at(blocks, 2))
    const refused: number[] = []
    verifier.engine.faults.newPayload = ({ payload }) => {
      if (!payload.transactions.some((transaction) => transaction[1] === 77)) return undefined
      refused.push(payload.blockNumber)
      return { status: 'INVALID' }
    }
    chain.l1.mine([chain.batchOf([at(blocks, 1), bad, at(blocks, 3)])])
    await until(() => verifier.node.syncStatus().safeL2.number === 2)
    expect((await verifier.engine.payloadByNumber(2))?.payload.transactions).toHaveLength(1)
    await untilIdle()
    // The rest of the channel was built on the refused block: it is gone with it.
    expect(verifier.node.syncStatus().safeL2.number).toBe(2)
    expect(refused).toEqual([2])
    expect(verifier.failure).toBeUndefined()
  })

  it('drop their batch before Holocene', async () => {
    const { chain, verifier, sequencer, blocks } = await startBoth(2, { fork: 'granite' })
    const first = at(blocks, 1)
    const genesis = await sequencer.engine.payloadByNumber(0)
    if (genesis === undefined) throw new Error('no genesis')
    const bad = sequencer.engine.build(genesis, {
      timestamp: first.payload.timestamp,
      prevRandao: first.payload.prevRandao,
      suggestedFeeRecipient: first.payload.feeRecipient,
      transactions: [...first.payload.transactions, Uint8Array.of(2, 77)],
      noTxPool: true,
      gasLimit: 30_000_000n,
      withdrawals: [],
    })
    const refused: number[] = []
    verifier.engine.faults.newPayload = ({ payload }) => {
      if (!payload.transactions.some((transaction) => transaction[1] === 77)) return undefined
      refused.push(payload.blockNumber)
      return { status: 'INVALID' }
    }
    chain.l1.mine([chain.batchOf([bad, at(blocks, 2)])])
    await untilIdle()
    expect(verifier.node.syncStatus().safeL2.number).toBe(0)
    expect(refused).toEqual([1])
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.node.syncStatus().safeL2.number === 2)
    expect(verifier.node.syncStatus().safeL2.hash).toBe(at(blocks, 2).payload.blockHash)
  })

  it('stop the node if the engine refuses a deposits-only block', async () => {
    const { chain, verifier, blocks } = await startBoth(1)
    verifier.engine.faults.newPayload = () => ({ status: 'INVALID', validationError: 'no' })
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.failure !== undefined)
    expect(String(verifier.failure)).toContain('engine rejects block 1 although it contains only deposits')
  })
})
