import { afterEach, describe, expect, it } from 'vitest'
import { EMPTY_BYTES } from '../../src/lib/bytes.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { encodePostExecTx, isDepositTx, isPostExecTx, type PayloadEnvelope } from '../../src/rollup/protocol/index.ts'
import { TestChain, type TestNode, untilIdle } from './harness.ts'

// Lagoon's transaction of type 0x7d on its way through the node: its engine alone judges where it may stand.

let chain: TestChain
afterEach(() => chain.close())

const TX = encodeRlp([3, 1, 21_000, new Uint8Array(20).fill(8), 5, EMPTY_BYTES, 28, 6, 7])
const postExec = (blockNumber: number) =>
  encodePostExecTx({ version: 1, blockNumber, refunds: [{ index: 1, gasRefund: 2000n }] })

/** A sequencer whose engine puts these transactions into its blocks, by number, and a verifier. */
async function start(contents: Record<number, Uint8Array[]>): Promise<Record<'sequencer' | 'verifier', TestNode>> {
  chain = new TestChain({ fork: 'lagoon' })
  const sequencer = await chain.addNode({ sequencing: {} })
  const verifier = await chain.addNode()
  verifier.engine.faults.newPayload = (envelope) =>
    isWellPlaced(envelope) ? undefined : { status: 'INVALID', validationError: 'post-exec transaction out of place' }
  const { engine } = sequencer
  const build = engine.build.bind(engine)
  engine.build = (parent, attributes) => {
    engine.pool = contents[parent.payload.blockNumber + 1] ?? []
    return build(parent, attributes)
  }
  await chain.advance(4)
  await until(() => sequencer.p2p.published.length >= 4)
  return { sequencer, verifier }
}

/** The rules "at most one" and "last in block" (specs: lagoon/post-exec). */
function isWellPlaced({ payload: { transactions } }: PayloadEnvelope): boolean {
  return transactions.findIndex(isPostExecTx) === -1 || transactions.findIndex(isPostExecTx) === transactions.length - 1
}

const hashes = (blocks: readonly PayloadEnvelope[]) => blocks.map(({ payload }) => payload.blockHash)
const batchOf = (kind: 'singular' | 'span', blocks: readonly PayloadEnvelope[]) =>
  kind === 'span' ? chain.spanOf(blocks) : chain.batchOf(blocks)

describe.each(['singular', 'span'] as const)('blocks with a post-exec transaction in %s batches', (kind) => {
  it('are derived as they were sequenced', async () => {
    const { sequencer, verifier } = await start({ 2: [TX, postExec(2)], 3: [TX], 4: [TX, TX, postExec(4)] })
    const blocks = sequencer.p2p.published.slice(0, 4)
    expect(blocks[1]?.payload.transactions.at(-1)).toEqual(postExec(2))
    chain.l1.mine([batchOf(kind, blocks)])
    await until(() => verifier.node.syncStatus().safeL2.number === 4)
    const derived = await Promise.all([1, 2, 3, 4].map((number) => verifier.engine.payloadByNumber(number)))
    expect(derived.map((envelope) => envelope?.payload.blockHash)).toEqual(hashes(blocks))
  })

  it.each([
    { id: 'two post-exec transactions', transactions: [TX, postExec(2), postExec(2)] },
    { id: 'a post-exec transaction that is not the last', transactions: [postExec(2), TX] },
  ])(
    'become a deposits-only block and end their channel if the engine refuses them with $id',
    async ({ transactions }) => {
      const { sequencer, verifier } = await start({ 2: transactions, 3: [TX], 4: [TX] })
      const blocks = sequencer.p2p.published.slice(0, 4)
      chain.l1.mine([batchOf(kind, blocks)])
      await until(() => verifier.node.syncStatus().safeL2.number === 2)
      await untilIdle()
      expect(verifier.node.syncStatus().safeL2.number).toBe(2)
      const replaced = await verifier.engine.payloadByNumber(2)
      expect(replaced?.payload.transactions).toEqual(blocks[1]?.payload.transactions.filter(isDepositTx))
      expect((await verifier.engine.payloadByNumber(1))?.payload.blockHash).toBe(hashes(blocks)[0])
    },
  )
})

it('a gossiped block with a post-exec transaction becomes the head and is consolidated', async () => {
  const { sequencer, verifier } = await start({ 2: [TX, postExec(2)] })
  const blocks = sequencer.p2p.published.slice(0, 4)
  for (const block of blocks) verifier.p2p.receive(block)
  await until(() => verifier.node.syncStatus().unsafeL2.number === 4)
  const inserted = verifier.engine.calls.filter((call) => call === 'newPayload').length
  chain.l1.mine([chain.spanOf(blocks)])
  await until(() => verifier.node.syncStatus().safeL2.number === 4)
  expect(verifier.node.syncStatus().safeL2.hash).toBe(hashes(blocks)[3])
  expect(verifier.engine.calls.filter((call) => call === 'newPayload')).toHaveLength(inserted)
})

it('a sequencer passes the refund opt-in to its engine, and a verifier refuses it', async () => {
  const { sequencer, verifier } = await start({})
  await sequencer.node.setSdmPostExecOptIn(true)
  expect(sequencer.engine.calls.filter((call) => call.startsWith('sdm'))).toEqual(['sdm true'])
  const active = { protocolActive: true, activationTime: 0 }
  expect(sequencer.node.sdmStatus()).toEqual({ postExecOptIn: true, effective: true, ...active })
  await expect(verifier.node.setSdmPostExecOptIn(true)).rejects.toMatchObject({ code: 'sequencer-disabled' })
  expect(verifier.node.sdmStatus()).toEqual({ postExecOptIn: false, effective: false, ...active })
})

it('a restarted sequencer passes its earlier refund opt-in to its engine', async () => {
  chain = new TestChain({ fork: 'lagoon' })
  const sequencer = await chain.addNode({ sequencing: { sdm: { optIn: true } } })
  await until(() => sequencer.engine.calls.includes('sdm true'))
  expect(sequencer.node.sdmStatus().postExecOptIn).toBe(true)
})
