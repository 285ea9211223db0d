import { describe, expect, it } from 'vitest'
import { errorWith } from '../../src/lib/testUtils/errorWith.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { untilIdle } from './harness.ts'
import { at, startBoth, startChain, variantOf } from './verifier.ts'

describe('consolidation', () => {
  it('makes gossiped blocks safe without building them', async () => {
    const { chain, verifier, blocks } = await startBoth(4)
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
    const { chain, verifier, blocks } = await startBoth(8)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 5))])
    chain.l1.mine([chain.batchOf(blocks.slice(5), 'brotli-9')])
    await until(() => verifier.node.syncStatus().safeL2.number === 8)
    expect(verifier.node.syncStatus().safeL2.hash).toBe(at(blocks, 8).payload.blockHash)
    expect(verifier.node.syncStatus().unsafeL2.hash).toBe(at(blocks, 8).payload.blockHash)
  })

  it('reorganises unsafe blocks that differ from L1', async () => {
    const { chain, verifier, sequencer, blocks } = await startBoth(4)
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
    const chain = startChain({ seqWindowSize: 4 })
    const verifier = await chain.addNode()
    for (let count = 0; count < 6; count++) chain.l1.mine()
    await until(() => verifier.node.syncStatus().safeL2.number >= 2)
    const block = await verifier.engine.payloadByNumber(2)
    expect(block?.payload.transactions).toHaveLength(1)
  })
})

describe('building from L1', () => {
  it('needs four engine calls per block, and sends the engine each head', async () => {
    const { chain, verifier, blocks } = await startBoth(20)
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
    const { chain, verifier, blocks } = await startBoth(12)
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
    const { chain, verifier, blocks } = await startBoth(12)
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
    const { chain, verifier, blocks } = await startBoth(30)
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

describe('resets', () => {
  it('follows an L1 reorg that takes a batch away', async () => {
    const { chain, verifier, blocks } = await startBoth(6)
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
    const { chain, verifier, blocks } = await startBoth(8)
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
    const { chain, verifier, blocks } = await startBoth(4)
    chain.l1.mine([chain.batchOf(blocks)])
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
    await verifier.node.resetDerivationPipeline()
    expect(verifier.node.syncStatus().safeL2.number).toBe(0)
    expect(verifier.node.syncStatus().unsafeL2.number).toBe(4)
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
  })

  it('resumes from the heads of an engine that ran before', async () => {
    const { chain, verifier, sequencer, blocks } = await startBoth(5)
    chain.l1.mine([chain.batchOf(blocks.slice(0, 3))])
    await until(() => sequencer.node.syncStatus().safeL2.number === 3)
    const restarted = await chain.addNode({ engine: sequencer.engine.clone() })
    expect(restarted.node.syncStatus().unsafeL2.number).toBe(5)
    await until(() => restarted.node.syncStatus().safeL2.number === 3)
    expect(verifier.failure).toBeUndefined()
  })

  it('ends a pending reset command when the node stops', async () => {
    const { chain, verifier } = await startBoth(1)
    chain.l1.failure = new Error('connect ECONNREFUSED')
    const outcome = verifier.node.resetDerivationPipeline().catch((error: unknown) => error)
    await untilIdle()
    await chain.close()
    expect(await outcome).toMatchObject({ code: 'derivation-stopped' })
    expect(verifier.failure).toBeUndefined()
    await expect(verifier.node.resetDerivationPipeline()).rejects.toMatchObject({ code: 'derivation-stopped' })
  })

  it('keeps trying while L1 does not answer', async () => {
    const { chain, verifier, blocks } = await startBoth(3)
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
    const { chain, verifier, blocks } = await startBoth(6)
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
    const { chain, verifier, blocks } = await startBoth(4)
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
    const farAhead = verifier.node.superRootAtTimestamp(2 ** 40)
    await expect(farAhead).rejects.toThrow(errorWith('safe-db-disabled', '--safedb.path'))
  })

  it('names the height that has no block yet', async () => {
    const { verifier } = await startBoth(1)
    await expect(verifier.node.outputAtBlock(9)).rejects.toThrow(
      'failed to get L2 block ref with sync status: failed to determine L2BlockRef of height 9, could not get payload: not found',
    )
  })
})
