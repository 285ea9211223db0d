import { afterEach, describe, expect, it } from 'vitest'
import type { Hex } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { FollowSource } from '../../src/rollup/node/index.ts'
import type { L1BlockRef, PayloadEnvelope } from '../../src/rollup/protocol/index.ts'
import { optimismSyncStatus } from '../../src/rpc/json.ts'
import { TestChain, type TestNode, untilIdle } from './harness.ts'

// Follow mode: safe and finalized head are taken over from another node, queried every other block.

const URL = 'http://followed'
let chain: TestChain
afterEach(() => chain.close())

interface Setup {
  sequencer: TestNode
  /** The node that is followed. */
  verifier: TestNode
  follower: TestNode
  answer: { change?: (status: ReturnType<typeof optimismSyncStatus>) => unknown }
}

async function start(): Promise<Setup> {
  chain = new TestChain()
  const sequencer = await chain.addNode({ sequencing: {} })
  const verifier = await chain.addNode()
  const answer: Setup['answer'] = {}
  const rpc = {
    url: URL,
    request: async () => {
      const status = optimismSyncStatus(verifier.node.syncStatus())
      return answer.change === undefined ? status : answer.change(status)
    },
  }
  const follower = await chain.addNode({ follow: new FollowSource({ rpc }, { timeoutMs: 1000 }) })
  return { sequencer, verifier, follower, answer }
}

function gossip(blocks: readonly PayloadEnvelope[], ...nodes: TestNode[]): void {
  for (const node of nodes) for (const block of blocks) node.p2p.receive(block)
}

async function makeSafe({ verifier }: Setup, blocks: readonly PayloadEnvelope[]): Promise<void> {
  chain.l1.mine([chain.batchOf(blocks)])
  await until(() => verifier.node.syncStatus().safeL2.hash === blocks.at(-1)?.payload.blockHash)
}

const rounds = async (count: number) => {
  for (let round = 0; round < count; round++) {
    await chain.clock.advance(2000)
    await untilIdle()
  }
}
const metric = async (node: TestNode, result: string) =>
  (await node.registry.getSingleMetric('op_node_default_follow_source_requests_total')?.get())?.values.find(
    ({ labels }) => labels.result === result,
  )?.value ?? 0

describe('follow mode', () => {
  it('a sequencer reads the receipts of an L1 block when it appears, not when an L2 block needs them', async () => {
    chain = new TestChain()
    const { l1, config } = chain
    const { head } = l1
    const { hash: l2Hash, number } = config.genesis.l2
    const timestamp = config.genesis.l2Time
    const safe = { hash: l2Hash, number, parentHash: head.parentHash, timestamp, l1Origin: head, sequenceNumber: 0 }
    const refs = {
      headL1: head,
      safeL1: head,
      finalizedL1: head,
      currentL1: head,
      unsafeL2: safe,
      safeL2: safe,
      localSafeL2: safe,
    }
    const rest = { finalizedL2: safe, pendingSafeL2: safe, queuedUnsafeL2: safe, engineSyncTarget: safe }
    const request = async () => optimismSyncStatus({ ...refs, ...rest })
    const follow = new FollowSource({ rpc: { url: URL, request } }, { timeoutMs: 1000 })
    await chain.addNode({ follow, sequencing: { confirmationDepth: 4 } })
    const read = l1.receipts.bind(l1)
    const requested: Hex[] = []
    l1.receipts = async (hash) => {
      requested.push(hash)
      return read(hash)
    }
    const { hash } = l1.mine()
    await untilIdle()
    expect(requested).toEqual([hash])
  })

  it('adopts safe head, finalized head and current L1 of the source, and derives nothing', async () => {
    const setup = await start()
    const { sequencer, verifier, follower } = setup
    await chain.advance(4)
    const blocks = [...sequencer.p2p.published]
    gossip(blocks, verifier, follower)
    await makeSafe(setup, blocks)
    expect(follower.node.syncStatus().safeL2.number).toBe(0)
    await rounds(1)
    expect(follower.node.syncStatus()).toMatchObject({
      safeL2: { number: 4, hash: blocks[3]?.payload.blockHash },
      currentL1: { number: verifier.node.syncStatus().currentL1.number },
    })
    expect(follower.engine.label('safe')).toBe(blocks[3]?.payload.blockHash)
    chain.l1.finalize(chain.l1.head.number)
    await until(() => verifier.node.syncStatus().finalizedL2.number === 4)
    await rounds(1)
    expect(follower.node.syncStatus().finalizedL2.number).toBe(4)
    expect(follower.node.derivationStatus()).toMatchObject({ state: 'following', ok: true, follows: URL })
    expect(await metric(follower, 'success')).toBeGreaterThan(2)
  })

  it('moves to the chain of its source with blocks from peers', async () => {
    const setup = await start()
    const { sequencer, verifier, follower } = setup
    // The follower could build a block with deposits only by itself.
    const build = sequencer.engine.build.bind(sequencer.engine)
    sequencer.engine.build = (parent, attributes) => {
      sequencer.engine.pool = [Uint8Array.of(2, 1)]
      return build(parent, attributes)
    }
    await chain.advance(3)
    const blocks = [...sequencer.p2p.published]
    // The follower has heard of another block 3, and does not have the right one.
    const [, parent, third] = blocks
    if (parent === undefined || third === undefined) throw new Error('no blocks')
    const other = follower.engine.build(parent, {
      timestamp: third.payload.timestamp,
      prevRandao: third.payload.prevRandao,
      suggestedFeeRecipient: third.payload.feeRecipient,
      transactions: [...third.payload.transactions, Uint8Array.of(2, 77)],
      noTxPool: true,
      gasLimit: third.payload.gasLimit,
      withdrawals: [],
      ...(third.parentBeaconBlockRoot === undefined ? {} : { parentBeaconBlockRoot: third.parentBeaconBlockRoot }),
      eip1559Params: '0x0000000000000000',
    })
    gossip([...blocks.slice(0, 2), other], follower)
    await until(() => follower.node.syncStatus().unsafeL2.hash === other.payload.blockHash)
    gossip(blocks, verifier)
    await makeSafe(setup, blocks)
    await rounds(1)
    // The rest is requested from peers as soon as a block above is there.
    expect(follower.node.syncStatus().unsafeL2.number).toBe(0)
    expect(follower.node.derivationStatus()).toMatchObject({ state: 'engine-syncing' })
    gossip(blocks, follower)
    await rounds(1)
    expect(follower.node.syncStatus()).toMatchObject({
      unsafeL2: { hash: third.payload.blockHash },
      safeL2: { hash: third.payload.blockHash },
    })
    expect(follower.node.derivationStatus()).toMatchObject({ state: 'following' })
  })

  it.each<[string, (status: ReturnType<typeof optimismSyncStatus>) => unknown, string, RegExp]>([
    ['does not answer', () => Promise.reject(new Error('refused')), 'error_fetch_status', /did not answer/],
    ['answers nonsense', () => ({ safe_l2: 7 }), 'error_invalid_state', /not a sync status/],
    [
      'has a finalized head above its safe one',
      (status) => ({ ...status, finalized_l2: { ...status.safe_l2, number: 99 } }),
      'error_invalid_state',
      /finalized head is above/,
    ],
    [
      'reads another L1',
      (status) => ({ ...status, current_l1: { ...status.current_l1, hash: `0x${'ab'.repeat(32)}` } }),
      'error_l1_mismatch',
      /our L1's block/,
    ],
    [
      'is ahead of our L1',
      (status) => ({ ...status, current_l1: { ...(status.current_l1 satisfies L1BlockRef), number: 9999 } }),
      'error_l1_lookup',
      /has no block 9999 yet/,
    ],
  ])('keeps its heads and says why when the other node %s', async (_name, change, result, text) => {
    const setup = await start()
    const { sequencer, verifier, follower, answer } = setup
    await chain.advance(2)
    gossip(sequencer.p2p.published, verifier, follower)
    await makeSafe(setup, sequencer.p2p.published)
    answer.change = change
    await rounds(1)
    expect(follower.node.syncStatus().safeL2.number).toBe(0)
    expect(follower.node.derivationStatus()).toMatchObject({ state: 'failing', text: expect.stringMatching(text) })
    expect(await metric(follower, result)).toBe(1)
    delete answer.change
    await rounds(1)
    expect(follower.node.syncStatus().safeL2.number).toBe(2)
    expect(follower.node.derivationStatus()).toMatchObject({ state: 'following', ok: true })
  })
})
