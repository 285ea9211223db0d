import { describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../src/jsonRpc/types.ts'
import { errorWith } from '../../src/lib/testUtils/errorWith.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { type PayloadEnvelope, payloadBlockHash } from '../../src/rollup/protocol/index.ts'
import { derivationStatusToJson } from '../../src/rpc/derivationJson.ts'
import { type TestNode, untilIdle } from './harness.ts'
import { at, startBoth, variantOf } from './verifier.ts'

describe('unsafe chain', () => {
  it('makes a gossiped block the head at once', async () => {
    const { verifier, blocks } = await startBoth(2)
    for (const block of blocks) verifier.p2p.receive(block)
    await until(() => verifier.node.syncStatus().unsafeL2.number === 2)
    expect(verifier.engine.label('latest')).toBe(at(blocks, 2).payload.blockHash)
    expect(verifier.node.syncStatus().safeL2.number).toBe(0)
  })

  it('notifies listeners of new L1 and L2 heads until they unsubscribe', async () => {
    const { chain, verifier, blocks } = await startBoth(2)
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
    const { chain, verifier, blocks } = await startBoth(6)
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
    const { chain, verifier, blocks } = await startBoth(6)
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
    const { chain, sequencer, verifier, blocks } = await startBoth(3)
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
    const { chain, verifier, blocks } = await startBoth(1)
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
    const { chain, verifier, blocks } = await startBoth(4)
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

describe('execution-layer sync', () => {
  const sync = { mode: 'execution-layer', reqResp: true, offsetBlocks: 4, resyncs: true } as const

  it('derives nothing until the engine has synced towards gossiped blocks, then continues behind its tip', async () => {
    const { chain, sequencer, blocks } = await startBoth(14)
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
    const { chain, sequencer, blocks } = await startBoth(6)
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
    const { chain, blocks } = await startBoth(6)
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
    const { chain, blocks } = await startBoth(6)
    const { node, engine, p2p } = await chain.addNode()
    p2p.servesBlocks = false
    p2p.receive(at(blocks, 5))
    await untilIdle()
    return { chain, blocks, node, engine, gap: () => derivationStatusToJson(node.derivationStatus()).gap }
  }

  it('is closed after two block times by an engine with its own network', async () => {
    const { chain, blocks, node, engine, gap } = await startWithGap()
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
    const { chain, blocks, node, gap } = await startWithGap()
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
    const { chain, blocks } = await startBoth(6)
    const { node, p2p, engine } = await chain.addNode()
    p2p.receive(at(blocks, 5))
    await untilIdle()
    await chain.clock.advance(10_000)
    await untilIdle()
    expect(engine.calls.filter((call) => call === 'newPayload')).toEqual([])
    expect(derivationStatusToJson(node.derivationStatus()).gap).toMatchObject({ asks: 'peers', last: 4 })
  })
})
