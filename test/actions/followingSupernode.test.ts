import { afterEach, describe, expect, it } from 'vitest'
import { until } from '../../src/lib/testUtils/until.ts'
import { FollowSource } from '../../src/rollup/node/index.ts'
import { isDepositTx, type PayloadEnvelope, payloadToL2BlockRef } from '../../src/rollup/protocol/index.ts'
import { optimismSyncStatus } from '../../src/rpc/json.ts'
import { TestChain, type TestNode, untilIdle } from './harness.ts'
import { at } from './verifier.ts'

// Interop: the followed node is an op-supernode, which denies blocks whose messages are invalid and replaces them by their deposits.

let chain: TestChain
afterEach(() => chain.close())

/** An op-supernode as its followers see it: what it has derived, and how far it has checked and finalized that. */
class FakeSupernode {
  blocks: PayloadEnvelope[] = []
  localSafe = 0
  safe = 0
  finalized = 0

  readonly source = new FollowSource(
    { rpc: { url: 'http://supernode', request: async () => this.syncStatus() } },
    { timeoutMs: 1000 },
  )

  /** Denies block `number`, and has derived what stands in for it, and nothing above. */
  deny(number: number, replacement: PayloadEnvelope): void {
    this.blocks = [...this.blocks.slice(0, number - 1), replacement]
    this.localSafe = number
  }

  private syncStatus() {
    const { head } = chain.l1
    const refs = { headL1: head, safeL1: head, finalizedL1: head, currentL1: head }
    const at = (number: number) => {
      const block = this.blocks[number - 1]
      if (block !== undefined) return payloadToL2BlockRef(block.payload, chain.config)
      const { l1, l2, l2Time } = chain.config.genesis
      return { ...l2, parentHash: l1.hash, timestamp: l2Time, l1Origin: l1, sequenceNumber: 0 }
    }
    const localSafe = at(this.localSafe)
    return optimismSyncStatus({
      ...refs,
      unsafeL2: localSafe,
      safeL2: at(this.safe),
      localSafeL2: localSafe,
      finalizedL2: at(this.finalized),
      pendingSafeL2: localSafe,
      queuedUnsafeL2: localSafe,
      engineSyncTarget: localSafe,
    })
  }
}

/** The block with only its deposits, on the same parent. */
function depositsOnly({ engine }: TestNode, parent: PayloadEnvelope, block: PayloadEnvelope): PayloadEnvelope {
  return childOf(engine, parent, block, block.payload.transactions.filter(isDepositTx))
}

function childOf(
  engine: TestNode['engine'],
  parent: PayloadEnvelope,
  { payload, parentBeaconBlockRoot }: PayloadEnvelope,
  transactions: Uint8Array[],
): PayloadEnvelope {
  return engine.build(parent, {
    timestamp: payload.timestamp,
    prevRandao: payload.prevRandao,
    suggestedFeeRecipient: payload.feeRecipient,
    transactions,
    noTxPool: true,
    gasLimit: payload.gasLimit,
    withdrawals: [],
    ...(parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot }),
    eip1559Params: '0x0000000000000000',
  })
}

/** With a transaction of a user in each block, which its replacement does not have. */
function fillBlocks({ engine }: TestNode): void {
  const build = engine.build.bind(engine)
  engine.build = (parent, attributes) => {
    engine.pool = [Uint8Array.of(2, parent.payload.blockNumber)]
    return build(parent, attributes)
  }
}

async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    await chain.clock.advance(2000)
    await untilIdle()
  }
}

const hashAt = (blocks: readonly PayloadEnvelope[], number: number) => blocks[number - 1]?.payload.blockHash

describe('a verifier that follows an op-supernode', () => {
  /** A sequencer that has made `count` blocks, which the follower has heard of. */
  async function start(count: number) {
    chain = new TestChain()
    const supernode = new FakeSupernode()
    const sequencer = await chain.addNode({ sequencing: {} })
    fillBlocks(sequencer)
    const follower = await chain.addNode({ follow: supernode.source })
    follower.p2p.servesBlocks = false
    await chain.advance(count)
    const blocks = [...sequencer.p2p.published]
    for (const block of blocks) follower.p2p.receive(block)
    await until(() => follower.node.syncStatus().unsafeL2.number === count)
    supernode.blocks = [...blocks]
    return { supernode, sequencer, follower, blocks, status: () => follower.node.syncStatus() }
  }

  it('adopts the safe head that the supernode has verified, and the local safe head that it has derived', async () => {
    const { supernode, blocks, status } = await start(5)
    Object.assign(supernode, { localSafe: 4, safe: 2, finalized: 1 })
    await rounds(1)
    expect(status()).toMatchObject({
      safeL2: { hash: hashAt(blocks, 2) },
      localSafeL2: { hash: hashAt(blocks, 4) },
      pendingSafeL2: { hash: hashAt(blocks, 4) },
      finalizedL2: { hash: hashAt(blocks, 1) },
      unsafeL2: { hash: hashAt(blocks, 5) },
    })
  })

  it('moves to the replacement of a denied block, and never back to the denied branch', async () => {
    const { supernode, sequencer, follower, blocks, status } = await start(5)
    Object.assign(supernode, { localSafe: 2, safe: 2, finalized: 1 })
    await rounds(1)
    const replacement = depositsOnly(follower, at(blocks, 2), at(blocks, 3))
    expect(replacement.payload.blockHash).not.toBe(hashAt(blocks, 3))
    await follower.engine.newPayload(replacement)
    supernode.deny(3, replacement)
    await rounds(1)
    expect(status().unsafeL2.hash).toBe(replacement.payload.blockHash)
    expect(follower.engine.label('latest')).toBe(replacement.payload.blockHash)

    // The sequencer has not heard of it yet: its blocks stand on the denied one, and the engine knows their parents.
    await chain.advance(2)
    const moves = follower.p2p.moves.length
    for (const block of sequencer.p2p.published.slice(3)) follower.p2p.receive(block)
    await rounds(4)
    expect(follower.p2p.moves.slice(moves)).toEqual([])
    expect(follower.engine.label('latest')).toBe(replacement.payload.blockHash)

    // The new chain goes on.
    const next = childOf(follower.engine, replacement, at(blocks, 4), at(blocks, 4).payload.transactions)
    follower.p2p.receive(next)
    await until(() => status().unsafeL2.hash === next.payload.blockHash)
  })

  it('lets the engine close a gap again once the new chain is finalized beyond the old one', async () => {
    const { supernode, follower, blocks, status } = await start(4)
    const replacement = depositsOnly(follower, at(blocks, 2), at(blocks, 3))
    const fresh = [...blocks.slice(0, 2), replacement]
    for (let number = 4; number <= 6; number++) {
      const { payload, ...rest } = at(blocks, 4)
      const like = { ...rest, payload: { ...payload, timestamp: payload.timestamp + number - 4 } }
      fresh.push(childOf(follower.engine, at(fresh, number - 1), like, payload.transactions.filter(isDepositTx)))
    }
    for (const block of fresh.slice(2, 5)) await follower.engine.newPayload(block)
    supernode.blocks = fresh
    Object.assign(supernode, { localSafe: 3, safe: 3, finalized: 3 })
    await rounds(1)
    follower.p2p.receive(at(fresh, 6))
    await rounds(3)
    expect(status().unsafeL2.number).toBe(3)
    Object.assign(supernode, { localSafe: 4, safe: 4, finalized: 4 })
    await rounds(4)
    expect(status().unsafeL2.hash).toBe(hashAt(fresh, 6))
  })

  it('builds the replacement of a denied block if its engine does not have it', async () => {
    const { supernode, follower, blocks, status } = await start(5)
    Object.assign(supernode, { localSafe: 2, safe: 2, finalized: 1 })
    await rounds(1)
    const replacement = depositsOnly(follower, at(blocks, 2), at(blocks, 3))
    supernode.deny(3, replacement)
    supernode.safe = 3
    await rounds(1)
    expect(status()).toMatchObject({
      unsafeL2: { hash: replacement.payload.blockHash },
      safeL2: { hash: replacement.payload.blockHash },
      finalizedL2: { hash: hashAt(blocks, 1) },
    })
    expect(follower.engine.label('safe')).toBe(replacement.payload.blockHash)
  })

  it('builds the replacement also if it never received the denied block', async () => {
    const { supernode, sequencer, follower, blocks, status } = await start(2)
    await chain.advance(1)
    const denied = at(sequencer.p2p.published, 3)
    const replacement = depositsOnly(follower, at(blocks, 2), denied)
    supernode.deny(3, replacement)
    await rounds(1)
    expect(status().unsafeL2.hash).toBe(replacement.payload.blockHash)
  })

  it('keeps its heads while the supernode rewinds, and adopts the new chain afterwards', async () => {
    const { supernode, follower, blocks, status } = await start(5)
    Object.assign(supernode, { localSafe: 4, safe: 4 })
    await rounds(1)
    expect(status().safeL2.hash).toBe(hashAt(blocks, 4))
    Object.assign(supernode, { localSafe: 2, safe: 1 })
    await rounds(1)
    expect(status()).toMatchObject({ safeL2: { hash: hashAt(blocks, 4) }, unsafeL2: { hash: hashAt(blocks, 5) } })
    const replacement = depositsOnly(follower, at(blocks, 2), at(blocks, 3))
    await follower.engine.newPayload(replacement)
    supernode.deny(3, replacement)
    supernode.safe = 2
    await rounds(1)
    expect(status()).toMatchObject({
      safeL2: { hash: hashAt(blocks, 2) },
      unsafeL2: { hash: replacement.payload.blockHash },
    })
  })
})

describe('a sequencer that follows an op-supernode', () => {
  async function start() {
    chain = new TestChain()
    const supernode = new FakeSupernode()
    const sequencer = await chain.addNode({ follow: supernode.source, sequencing: {} })
    fillBlocks(sequencer)
    await chain.advance(5)
    const blocks = sequencer.p2p.published.slice(0, 4)
    supernode.blocks = [...blocks]
    return { supernode, sequencer, blocks }
  }

  const hashOf = ({ payload }: PayloadEnvelope) => payload.blockHash

  /** What was published behind the first `count` blocks is one chain on `parent`. */
  function expectChainOn(parent: PayloadEnvelope, sequencer: TestNode, count: number): void {
    const fresh = sequencer.p2p.published.slice(count)
    expect(fresh.length).toBeGreaterThan(1)
    expect(fresh.map(({ payload }) => payload.parentHash)).toEqual([parent, ...fresh.slice(0, -1)].map(hashOf))
  }

  it.each([
    { id: 'its engine has', isKnown: true },
    { id: 'its engine builds', isKnown: false },
  ])('moves to the replacement of its denied block, which $id, and builds on it', async ({ isKnown }) => {
    const { supernode, sequencer, blocks } = await start()
    const replacement = depositsOnly(sequencer, at(blocks, 2), at(blocks, 3))
    if (isKnown) await sequencer.engine.newPayload(replacement)
    supernode.deny(3, replacement)
    await chain.advance(8)
    const first = sequencer.p2p.published.findIndex(({ payload }) => payload.parentHash === hashOf(replacement))
    expect(first).not.toBe(-1)
    expectChainOn(replacement, sequencer, first)
  })

  it('builds nothing while its engine neither has nor can build the chain of the supernode', async () => {
    const { supernode, sequencer, blocks } = await start()
    const third = at(blocks, 3)
    const deposits = third.payload.transactions.filter(isDepositTx)
    const other = childOf(sequencer.engine, at(blocks, 2), third, [...deposits, Uint8Array.of(2, 99)])
    supernode.deny(3, other)
    await rounds(1)
    const before = sequencer.p2p.published.length
    await chain.advance(6)
    expect(sequencer.p2p.published).toHaveLength(before)
    await sequencer.engine.newPayload(other)
    await chain.advance(6)
    expectChainOn(other, sequencer, before)
  })
})
