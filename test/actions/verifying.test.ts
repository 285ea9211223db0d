import { afterEach, describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { errorWith } from '../../src/lib/testUtils/errorWith.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import type { FakeEngine } from '../../src/rollup/engine/testUtils/fakeEngine.ts'
import { type PayloadEnvelope, payloadBlockHash } from '../../src/rollup/protocol/index.ts'
import { derivationStatusToJson } from '../../src/rpc/derivationJson.ts'
import { TestChain, type TestChainOptions, type TestNode, untilIdle } from './harness.ts'

let chain: TestChain
afterEach(() => chain.close())

/** A sequencer that has made `seconds` blocks, and a verifier that has seen none of them. */
async function startBoth(
  seconds: number,
  options: TestChainOptions = {},
): Promise<{ sequencer: TestNode; verifier: TestNode; blocks: PayloadEnvelope[] }> {
  chain = new TestChain(options)
  const sequencer = await chain.addNode({ sequencing: {} })
  const verifier = await chain.addNode()
  await chain.advance(seconds)
  return { sequencer, verifier, blocks: sequencer.p2p.published }
}

/** Another block in the place of this one, with one more transaction. */
function variantOf(engine: FakeEngine, parent: PayloadEnvelope, block: PayloadEnvelope): PayloadEnvelope {
  const { payload, parentBeaconBlockRoot } = block
  return engine.build(parent, {
    timestamp: payload.timestamp,
    prevRandao: payload.prevRandao,
    suggestedFeeRecipient: payload.feeRecipient,
    transactions: [...payload.transactions, Uint8Array.of(2, 77)],
    noTxPool: true,
    gasLimit: payload.gasLimit,
    withdrawals: [],
    ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }),
    eip1559Params: '0x0000000000000000',
  })
}

function at(blocks: readonly PayloadEnvelope[], number: number): PayloadEnvelope {
  const block = blocks.find(({ payload }) => payload.blockNumber === number)
  if (block === undefined) throw new Error(`no block ${number}`)
  return block
}

describe('unsafe chain', () => {
  it('makes a gossiped block the head at once', async () => {
    const { verifier, blocks } = await startBoth(2)
    for (const block of blocks) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 2)
    expect(verifier.engine.label('latest')).toBe(at(blocks, 2).payload.blockHash)
    expect(verifier.node.syncStatus().safeL2.number).toBe(0)
  })

  it('notifies listeners of new L1 and L2 heads until they unsubscribe', async () => {
    const { verifier, blocks } = await startBoth(2)
    const heads: [number, number][] = []
    const end = verifier.node.onHeads(() => {
      const { unsafeL2, headL1 } = verifier.node.syncStatus()
      heads.push([unsafeL2.number, headL1.number])
    })
    const l1Before = verifier.node.syncStatus().headL1.number
    for (const block of blocks) verifier.p2p.receive(block)
    await until(() => heads.at(-1)?.[0] === 2)
    while (heads.at(-1)?.[1] === l1Before) await chain.advance(2)
    end()
    const before = heads.length
    verifier.p2p.receive(at(blocks, 2))
    await chain.advance(12)
    expect(heads).toHaveLength(before)
  })

  it('keeps blocks above a gap, requests the gap from peers, and inserts them when it is filled', async () => {
    const { verifier, blocks } = await startBoth(6)
    for (const number of [6, 4, 5]) verifier.p2p.receive(at(blocks, number))
    await untilIdle()
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(0)
    expect(verifier.node.syncStatus().queuedUnsafeL2.number).toBe(4)
    expect(verifier.p2p.requested).toEqual([[1, 4, 4]])
    await chain.clock.advance(2000)
    await untilIdle()
    expect(verifier.p2p.requested).toHaveLength(2)
    for (const number of [3, 2, 1]) verifier.p2p.receive(at(blocks, number))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 6)
    expect(verifier.node.syncStatus().queuedUnsafeL2.number).toBe(0)
  })

  it('requests a gap at once when it changes, and below a block that was posted', async () => {
    const { verifier, blocks } = await startBoth(8)
    await verifier.node.postUnsafePayload(at(blocks, 8))
    await untilIdle()
    expect(verifier.p2p.requested).toEqual([[1, 8, 8]])
    verifier.p2p.receive(at(blocks, 6))
    await untilIdle()
    expect(verifier.p2p.requested.slice(1)).toEqual([[1, 6, 6]])
    for (const number of [1, 2]) verifier.p2p.receive(at(blocks, number))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 2)
    await untilIdle()
    expect(verifier.p2p.requested.slice(2).at(-1)).toEqual([3, 6, 6])
    for (const number of [5, 4, 3]) verifier.p2p.receive(at(blocks, number))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 6)
    await untilIdle()
    expect(verifier.p2p.requested.at(-1)).toEqual([7, 8, 8])
  })

  it('inserts queued blocks when derivation has closed the gap', async () => {
    const { verifier, blocks } = await startBoth(6)
    for (const number of [5, 6]) verifier.p2p.receive(at(blocks, number))
    chain.l1.mine([chain.batchOf(blocks.slice(0, 4))])
    await until(() => verifier.node.syncStatus().unsafeL2.number === 6)
    expect(verifier.node.syncStatus().safeL2.number).toBe(4)
    expect(verifier.engine.label('latest')).toBe(at(blocks, 6).payload.blockHash)
  })

  it('drops a block that does not extend its head, and a block that the engine refuses', async () => {
    const { verifier, blocks, sequencer } = await startBoth(3)
    verifier.p2p.receive(at(blocks, 1))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 1)
    const foreign = variantOf(sequencer.engine, at(blocks, 2), at(blocks, 3))
    const parent = variantOf(sequencer.engine, at(blocks, 1), at(blocks, 2))
    verifier.p2p.receive({ ...foreign, payload: { ...foreign.payload, blockNumber: 2 } })
    verifier.engine.faults.newPayload = ({ payload }) =>
      payload.blockHash === parent.payload.blockHash ? { status: 'INVALID', validationError: 'no' } : undefined
    verifier.p2p.receive(parent)
    await untilIdle()
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(1)
    expect(verifier.node.syncStatus().queuedUnsafeL2.number).toBe(0)
    verifier.p2p.receive(at(blocks, 2))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 2)
  })

  it.each<[string, (block: PayloadEnvelope) => Uint8Array[]]>([
    ['without transactions', () => []],
    ['without L1 info', ({ payload }) => [Uint8Array.of(0x7e, 0xc0), ...payload.transactions]],
  ])('drops a signed block %s, queued or next, and accepts another at its height', async (_what, transactions) => {
    const { verifier, blocks } = await startBoth(3)
    const bad = (number: number): PayloadEnvelope => {
      const block = at(blocks, number)
      const payload = { ...block.payload, transactions: transactions(block) }
      return { ...block, payload: { ...payload, blockHash: payloadBlockHash({ ...block, payload }) } }
    }
    verifier.p2p.receive(bad(3))
    await untilIdle()
    expect(verifier.node.syncStatus().queuedUnsafeL2.number).toBe(0)
    verifier.p2p.receive(bad(1))
    for (const number of [1, 2, 3]) verifier.p2p.receive(at(blocks, number))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 3)
    expect(verifier.node.syncStatus().unsafeL2.hash).toBe(at(blocks, 3).payload.blockHash)
  })

  it('drops a block that the engine cannot decode, and accepts another at its height', async () => {
    const { verifier, blocks, sequencer } = await startBoth(2)
    verifier.p2p.receive(at(blocks, 1))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 1)
    const bad = variantOf(sequencer.engine, at(blocks, 1), at(blocks, 2))
    verifier.engine.faults.newPayload = ({ payload }) => {
      // As geth answers to a block without the members that the forks of its time have brought.
      if (payload.blockHash === bad.payload.blockHash) throw new JsonRpcError(-32602, 'Invalid parameters')
      return undefined
    }
    verifier.p2p.receive(bad)
    verifier.p2p.receive(at(blocks, 2))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 2)
    expect(verifier.node.syncStatus().unsafeL2.hash).toBe(at(blocks, 2).payload.blockHash)
  })

  it('reports to the network whether gossip, L1 or the sequencer moved its head', async () => {
    const { sequencer, verifier, blocks } = await startBoth(3)
    verifier.p2p.receive(at(blocks, 1))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 1)
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.node.syncStatus().safeL2.number === 3)
    const moves = (node: TestNode) => node.p2p.moves.map(({ number, movedBy }) => `${number} ${movedBy}`)
    expect(moves(verifier)).toEqual(['0 reset', '1 payload', '2 derivation', '3 derivation'])
    expect(moves(sequencer)).toEqual(['0 reset', '1 sequencer', '2 sequencer', '3 sequencer'])
    expect(verifier.p2p.moves[1]?.hash).toBe(at(blocks, 1).payload.blockHash)
  })

  it('accepts posted blocks after checking their hash', async () => {
    const { verifier, blocks } = await startBoth(1)
    const block = at(blocks, 1)
    const forged = { ...block, payload: { ...block.payload, gasUsed: 5n } }
    await expect(verifier.node.postUnsafePayload(forged)).rejects.toThrow(
      errorWith('bad-block-hash', block.payload.blockHash),
    )
    await verifier.node.postUnsafePayload(block)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 1)
  })

  it('retries while the engine is unavailable', async () => {
    const { verifier, blocks } = await startBoth(1)
    let isAway = true
    verifier.engine.faults.newPayload = () => {
      if (isAway) throw new Error('connect ECONNREFUSED')
    }
    verifier.p2p.receive(at(blocks, 1))
    await untilIdle()
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(0)
    isAway = false
    await chain.clock.advance(1000)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 1)
  })

  it('finds its heads again when the engine has lost blocks', async () => {
    const { verifier, blocks } = await startBoth(4)
    for (const block of blocks.slice(0, 3)) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 3)
    const lost = chain.createEngine()
    verifier.engine.faults.newPayload = () => ({ status: 'SYNCING' })
    verifier.engine.blockRefByLabel = (label) => lost.blockRefByLabel(label)
    verifier.engine.blockRefByNumber = (number) => lost.blockRefByNumber(number)
    verifier.p2p.receive(at(blocks, 4))
    await until(() => verifier.node.syncStatus().unsafeL2.number === 0)
    expect(verifier.failure).toBeUndefined()
  })
})

describe('a faulty engine', () => {
  it('that accepts its head but not its children is called with growing pauses, and keeps its heads', async () => {
    const { verifier, blocks } = await startBoth(4)
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
    const { verifier, blocks } = await startBoth(4)
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
    const { verifier, blocks } = await startBoth(4)
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
    const { sequencer } = await startBoth(4)
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
    const { verifier, sequencer, blocks } = await startBoth(6)
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

describe('consolidation', () => {
  it('makes gossiped blocks safe without building them', async () => {
    const { verifier, blocks } = await startBoth(4)
    for (const block of blocks) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 4)
    verifier.engine.calls.length = 0
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.engine.label('safe') === at(blocks, 4).payload.blockHash)
    expect(verifier.node.syncStatus().safeL2.number).toBe(4)
    // One forkchoice update for the whole batch.
    expect(verifier.engine.calls.filter((call) => call !== 'forkchoice')).toEqual([])
    expect(verifier.engine.calls.length).toBeLessThanOrEqual(2)
  })

  it('builds the chain from L1 alone, hash by hash', async () => {
    const { verifier, blocks } = await startBoth(8)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 5))])
    chain.l1.mine([chain.batchOf(blocks.slice(5), 'brotli-9')])
    await until(() => verifier.node.syncStatus().safeL2.number === 8)
    expect(verifier.node.syncStatus().safeL2.hash).toBe(at(blocks, 8).payload.blockHash)
    expect(verifier.node.syncStatus().unsafeL2.hash).toBe(at(blocks, 8).payload.blockHash)
  })

  it('reorganises unsafe blocks that differ from L1', async () => {
    const { verifier, sequencer, blocks } = await startBoth(4)
    const wrong = variantOf(sequencer.engine, at(blocks, 1), at(blocks, 2))
    const wrongChild = sequencer.engine.build(wrong, {
      timestamp: at(blocks, 3).payload.timestamp,
      prevRandao: at(blocks, 3).payload.prevRandao,
      suggestedFeeRecipient: at(blocks, 3).payload.feeRecipient,
      transactions: at(blocks, 3).payload.transactions,
      noTxPool: true,
      gasLimit: 30_000_000n,
      withdrawals: [],
      eip1559Params: '0x0000000000000000',
    })
    for (const block of [at(blocks, 1), wrong, wrongChild]) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.hash === wrongChild.payload.blockHash)
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
    expect(verifier.node.syncStatus().unsafeL2.hash).toBe(at(blocks, 4).payload.blockHash)
    expect((await verifier.engine.payloadByNumber(2))?.payload.blockHash).toBe(at(blocks, 2).payload.blockHash)
    expect(verifier.failure).toBeUndefined()
  })

  it('makes empty blocks when the sequencing window has passed', async () => {
    chain = new TestChain({ seqWindowSize: 4 })
    const verifier = await chain.addNode()
    for (let count = 0; count < 6; count++) chain.l1.mine()
    await until(() => verifier.node.syncStatus().safeL2.number >= 2)
    const block = await verifier.engine.payloadByNumber(2)
    expect(block?.payload.transactions).toHaveLength(1)
  })
})

describe('building from L1', () => {
  it('needs four engine calls per block, and sends the engine each head', async () => {
    const { verifier, blocks } = await startBoth(20)
    verifier.engine.calls.length = 0
    const disagreements: string[] = []
    const { engine, node } = verifier
    const compare = () => {
      // What the node says of its heads, the engine was told.
      const { unsafeL2 } = node.syncStatus()
      if (engine.label('latest') !== unsafeL2.hash) disagreements.push(`${unsafeL2.number}`)
    }
    engine.faults.getPayload = () => void compare()
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => node.syncStatus().safeL2.number === 20)
    expect(node.syncStatus().safeL2.hash).toBe(at(blocks, 20).payload.blockHash)
    const built = engine.calls.filter((call) => call === 'getPayload').length
    expect(built).toBe(20)
    // One or two more for a new origin.
    expect(engine.calls.length).toBeLessThanOrEqual(4 * built + 2)
    expect(disagreements).toEqual([])
    compare()
    expect(disagreements).toEqual([])
  })

  it('loses no block if the engine refuses the next attributes together with the head', async () => {
    const { verifier, blocks } = await startBoth(12)
    let started = 0
    verifier.engine.faults.forkchoiceUpdated = (_state, attributes) => {
      if (attributes !== undefined && started++ % 3 === 1) throw new Error('ECONNRESET')
      return undefined
    }
    chain.l1.mine([chain.batchOf(blocks)])
    await untilIdle()
    await chain.clock.advance(20_000)
    await until(() => verifier.node.syncStatus().safeL2.number === 12)
    expect(verifier.node.syncStatus().safeL2.hash).toBe(at(blocks, 12).payload.blockHash)
  })

  it('rebuilds a block and continues on it after both calls that make it the head were lost', async () => {
    const { verifier, blocks } = await startBoth(12)
    let calls = 0
    verifier.engine.faults.forkchoiceUpdated = (state) => {
      const isOnBlock5 = state.headBlockHash === at(blocks, 5).payload.blockHash
      if (isOnBlock5 && calls++ < 4) throw new Error('ECONNRESET')
      return undefined
    }
    chain.l1.mine([chain.batchOf(blocks)])
    await untilIdle()
    expect(verifier.node.syncStatus().safeL2.number).toBe(4)
    expect(verifier.engine.label('latest')).toBe(at(blocks, 4).payload.blockHash)
    await chain.clock.advance(20_000)
    await until(() => verifier.node.syncStatus().safeL2.number === 12)
    expect(calls).toBeGreaterThan(4)
    expect(verifier.node.syncStatus().safeL2.hash).toBe(at(blocks, 12).payload.blockHash)
  })

  it('processes gossiped blocks and finality between two built blocks', async () => {
    const { verifier, blocks } = await startBoth(30)
    let inserted: number | undefined
    verifier.engine.faults.getPayload = () => {
      if (inserted === undefined && verifier.node.syncStatus().safeL2.number === 5) {
        // Its parent is unknown here, so it waits.
        verifier.p2p.receive(at(blocks, 30))
        inserted = 5
      }
    }
    chain.l1.mine([chain.batchOf(blocks.slice(0, 29))])
    await until(() => verifier.node.syncStatus().unsafeL2.number === 30)
    expect(verifier.node.syncStatus().safeL2.number).toBe(29)
  })
})

describe('execution-layer sync', () => {
  const sync = { mode: 'execution-layer', reqResp: true, offsetBlocks: 4, resyncs: true } as const

  it('derives nothing until the engine has synced towards gossiped blocks, then continues behind its tip', async () => {
    const { sequencer, blocks } = await startBoth(14)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 12))])
    await until(() => sequencer.node.syncStatus().safeL2.number === 12)
    const { node, engine, p2p } = await chain.addNode({ sync })
    await untilIdle()
    expect(engine.calls).toEqual([])
    engine.faults.newPayload = () => ({ status: 'SYNCING' })
    engine.faults.forkchoiceUpdated = () => ({ payloadStatus: { status: 'SYNCING' } })
    p2p.receive(at(blocks, 10))
    await until(() => node.syncStatus().unsafeL2.number === 10)
    expect(node.syncStatus()).toMatchObject({
      engineSyncTarget: { number: 10 },
      safeL2: { number: 0 },
      currentL1: { number: 0 },
    })
    await node.resetDerivationPipeline()
    engine.faults.newPayload = () => undefined
    engine.faults.forkchoiceUpdated = () => undefined
    for (const block of blocks.slice(0, 10)) await engine.newPayload(block)
    p2p.receive(at(blocks, 11))
    await until(() => node.syncStatus().safeL2.number === 12)
    // Finalized was told with safe, four blocks behind the tip.
    expect(node.syncStatus().finalizedL2.number).toBe(7)
    for (const number of [13, 14]) p2p.receive(at(blocks, number))
    await until(() => node.syncStatus().unsafeL2.number === 14)
    expect(node.syncStatus().unsafeL2.hash).toBe(at(blocks, 14).payload.blockHash)
  })

  it('ends at once if the engine has a finalized block and syncs only once', async () => {
    const { sequencer, blocks } = await startBoth(6)
    const engine = sequencer.engine.clone()
    const second = at(blocks, 2).payload.blockHash
    await engine.forkchoiceUpdated({
      headBlockHash: at(blocks, 6).payload.blockHash,
      safeBlockHash: second,
      finalizedBlockHash: second,
    })
    const { node, p2p } = await chain.addNode({ sync: { ...sync, resyncs: false }, engine })
    p2p.receive(at(blocks, 6))
    await until(() => node.syncStatus().unsafeL2.number === 6)
    expect(node.syncStatus().finalizedL2.number).toBe(2)
  })

  it('lets the engine close a gap after two block times if no peer is asked for blocks', async () => {
    const { blocks } = await startBoth(6)
    const { node, engine, p2p } = await chain.addNode({ sync: { ...sync, mode: 'consensus-layer', reqResp: false } })
    engine.calls.length = 0
    p2p.receive(at(blocks, 5))
    await untilIdle()
    expect(engine.calls).toEqual([])
    expect(p2p.requested).toEqual([])
    await chain.clock.advance(2000)
    await untilIdle()
    expect(engine.calls).toEqual(['newPayload', 'forkchoice'])
    for (const block of blocks.slice(0, 4)) await engine.newPayload(block)
    await chain.clock.advance(2000)
    await until(() => node.syncStatus().unsafeL2.number === 5)
  })
})

describe('a gap that no peer can close, since none serves blocks by number', () => {
  async function startWithGap() {
    const { sequencer, blocks } = await startBoth(6)
    const { node, engine, p2p } = await chain.addNode()
    p2p.servesBlocks = false
    p2p.receive(at(blocks, 5))
    await untilIdle()
    return { sequencer, blocks, node, engine, gap: () => derivationStatusToJson(node.derivationStatus()).gap }
  }

  it('is closed after two block times by an engine with its own network', async () => {
    const { blocks, node, engine, gap } = await startWithGap()
    expect(gap()).toMatchObject({ first: 1, last: 4, asks: 'engine' })
    engine.calls.length = 0
    await chain.clock.advance(2000)
    await untilIdle()
    // An update to a block that it lacks has an engine sync.
    expect(engine.calls).toEqual(['newPayload', 'forkchoice'])
    expect(node.syncStatus().unsafeL2.number).toBe(0)
    expect(gap()?.text).toBe(
      'L2 blocks 1 to 4 have been missing for 2 s. No connected peer serves blocks by number. The execution client fetches missing blocks by its own network. Otherwise derivation gets them from L1.',
    )
    for (const block of blocks.slice(0, 4)) await engine.newPayload(block)
    await chain.clock.advance(2000)
    await until(() => node.syncStatus().unsafeL2.number === 5)
    expect(gap()).toBeNull()
  })

  it('is closed by L1 if the engine has no network', async () => {
    const { blocks, node, gap } = await startWithGap()
    await chain.clock.advance(20_000)
    await untilIdle()
    expect(node.syncStatus().unsafeL2.number).toBe(0)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 4))])
    await until(() => node.syncStatus().safeL2.number === 4)
    await chain.clock.advance(10_000)
    await until(() => node.syncStatus().unsafeL2.number === 5)
    expect(gap()).toBeNull()
  })

  it('is requested from peers as soon as one serves blocks', async () => {
    const { blocks } = await startBoth(6)
    const { node, p2p, engine } = await chain.addNode()
    p2p.receive(at(blocks, 5))
    await untilIdle()
    await chain.clock.advance(10_000)
    await untilIdle()
    expect(engine.calls.filter((call) => call === 'newPayload')).toEqual([])
    expect(derivationStatusToJson(node.derivationStatus()).gap).toMatchObject({ asks: 'peers', last: 4 })
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
    const { verifier, sequencer, blocks } = await startBoth(8)
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
    const { verifier, sequencer, blocks } = await startBoth(3)
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
    const { verifier, sequencer, blocks } = await startBoth(2, { fork: 'granite' })
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
    const { verifier, blocks } = await startBoth(1)
    verifier.engine.faults.newPayload = () => ({ status: 'INVALID', validationError: 'no' })
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.failure !== undefined)
    expect(String(verifier.failure)).toContain('engine rejects block 1 although it contains only deposits')
  })
})

describe('resets', () => {
  it('follows an L1 reorg that takes a batch away', async () => {
    const { verifier, blocks } = await startBoth(6)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 4))])
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
    const number = chain.l1.head.number
    chain.l1.rewind(number - 1)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 2))])
    chain.l1.mine()
    await until(() => verifier.node.syncStatus().safeL2.number === 2)
    await until(() => verifier.node.syncStatus().currentL1.hash === chain.l1.head.hash)
    // Unsafe stays: its origins are still canonical.
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(4)
  })

  it('rewinds unsafe blocks whose origin was reorged', async () => {
    const { verifier, blocks } = await startBoth(8)
    for (const block of blocks) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 8)
    chain.l1.rewind(1)
    chain.l1.mine()
    chain.l1.mine()
    chain.l1.mine()
    chain.l1.mine()
    await until(() => verifier.node.syncStatus().unsafeL2.number < 8 && verifier.node.syncStatus().unsafeL2.number > 0)
    expect(verifier.node.syncStatus().unsafeL2.l1Origin.number).toBe(1)
  })

  it('resets by command and answers when it is done', async () => {
    const { verifier, blocks } = await startBoth(4)
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
    await verifier.node.resetDerivationPipeline()
    expect(verifier.node.syncStatus().safeL2.number).toBe(0)
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(4)
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
  })

  it('resumes from the heads of an engine that ran before', async () => {
    const { verifier, sequencer, blocks } = await startBoth(5)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 3))])
    await until(() => sequencer.node.syncStatus().safeL2.number === 3)
    const restarted = await chain.addNode({ engine: sequencer.engine.clone() })
    expect(restarted.node.syncStatus().unsafeL2.number).toBe(5)
    await until(() => restarted.node.syncStatus().safeL2.number === 3)
    expect(verifier.failure).toBeUndefined()
  })

  it('ends a pending reset command when the node stops', async () => {
    const { verifier } = await startBoth(1)
    chain.l1.failure = new Error('connect ECONNREFUSED')
    const outcome = verifier.node.resetDerivationPipeline().catch((error: unknown) => error)
    await untilIdle()
    await chain.close()
    expect(await outcome).toMatchObject({ code: 'derivation-stopped' })
    expect(verifier.failure).toBeUndefined()
    await expect(verifier.node.resetDerivationPipeline()).rejects.toMatchObject({ code: 'derivation-stopped' })
  })

  it('keeps trying while L1 does not answer', async () => {
    const { verifier, blocks } = await startBoth(3)
    chain.l1.failure = new Error('connect ECONNREFUSED')
    chain.l1.mine([chain.batchOf(blocks)])
    await untilIdle()
    expect(verifier.node.syncStatus().safeL2.number).toBe(0)
    chain.l1.failure = undefined
    await chain.clock.advance(1500)
    await until(() => verifier.node.syncStatus().safeL2.number === 3)
  })
})

describe('finality', () => {
  it('finalizes what was derived from finalized L1 blocks', async () => {
    const { verifier, blocks } = await startBoth(6)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 2))])
    const first = chain.l1.head.number
    chain.l1.mine([chain.batchOf(blocks.slice(2))])
    await until(() => verifier.node.syncStatus().safeL2.number === 6)
    chain.l1.finalize(first - 1)
    await untilIdle()
    expect(verifier.node.syncStatus().finalizedL2.number).toBe(0)
    chain.l1.finalize(first)
    await until(() => verifier.node.syncStatus().finalizedL2.number === 2)
    await until(() => verifier.engine.label('finalized') === at(blocks, 2).payload.blockHash)
    chain.l1.finalize(first + 1)
    await until(() => verifier.node.syncStatus().finalizedL2.number === 6)
    // A signal that goes back is ignored.
    chain.l1.finalize(first)
    expect(verifier.node.syncStatus().finalizedL1.number).toBe(first + 1)
  })

  it('a reset never rewinds a finalized block', async () => {
    const { verifier, blocks } = await startBoth(4)
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
    chain.l1.finalize(chain.l1.head.number)
    await until(() => verifier.node.syncStatus().finalizedL2.number === 4)
    await verifier.node.resetDerivationPipeline()
    expect(verifier.node.syncStatus().safeL2.number).toBe(4)
  })
})

describe('calls without an answer', () => {
  it('refuses safe heads without a safe head database', async () => {
    const { verifier } = await startBoth(1)
    await expect(verifier.node.safeHeadAtL1Block(16)).rejects.toThrow(errorWith('safe-db-disabled', '0x10'))
  })

  it('names the height that has no block yet', async () => {
    const { verifier } = await startBoth(1)
    await expect(verifier.node.outputAtBlock(9)).rejects.toThrow(
      'failed to get L2 block ref with sync status: failed to determine L2BlockRef of height 9, could not get payload: not found',
    )
  })
})
