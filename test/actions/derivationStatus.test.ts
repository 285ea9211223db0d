import { afterEach, describe, expect, it } from 'vitest'
import { type RootLogger, silentLogger } from '../../src/lib/logger.ts'
import { shortHash } from '../../src/lib/shortIds.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { decodeFrames, encodeFrames, type PayloadEnvelope, upgradeDepositsOf } from '../../src/rollup/protocol/index.ts'
import { GENESIS_TIME, TestChain, type TestChainOptions, type TestNode, untilIdle } from './harness.ts'

let chain: TestChain
afterEach(() => chain.close())

/** A verifier that has the blocks of a sequencer by gossip, and nothing from L1. */
async function startVerifier(seconds: number, options: TestChainOptions = {}) {
  chain = new TestChain(options)
  const sequencer = await chain.addNode({ sequencing: {} })
  const verifier = await chain.addNode()
  await chain.advance(seconds)
  const blocks = sequencer.p2p.published
  for (const block of blocks) verifier.p2p.receive(block)
  await until(() => verifier.node.syncStatus().unsafeL2.number === blocks.length)
  return { verifier, blocks }
}

async function post(blocks: readonly PayloadEnvelope[]): Promise<void> {
  chain.l1.mine([chain.batchOf(blocks)])
  await untilIdle()
}

const stateOf = ({ node }: TestNode) => node.derivationStatus().state

describe('why the safe head does not move', () => {
  it('reports that it waits for batches, then that none came for long, until a batch arrives', async () => {
    const { verifier, blocks } = await startVerifier(6)
    expect(verifier.node.derivationStatus()).toMatchObject({ state: 'waiting-for-batches', ok: true })
    await post(blocks.slice(0, 3))
    await until(() => verifier.node.syncStatus().safeL2.number === 3)
    expect(verifier.node.derivationStatus().text).toMatch(
      /^The safe head is waiting for the next batch\. .* 3 blocks are not safe yet\.$/,
    )
    // Time passes, and no L1 block comes.
    await chain.clock.advance(11 * 60_000)
    expect(verifier.node.derivationStatus()).toMatchObject({ state: 'no-batches', ok: false })
    await post(blocks.slice(3))
    await until(() => stateOf(verifier) === 'up-to-date')
  })

  it('names the rule that dropped the last batch', async () => {
    const { verifier, blocks } = await startVerifier(6)
    await post(blocks.slice(2, 4))
    expect(verifier.node.derivationStatus()).toMatchObject({
      state: 'batches-dropped',
      text: expect.stringMatching(
        /the last singular batch, read at L1 block \d+, was dropped with the rest of its channel: timestamp is in the future\.$/,
      ),
    })
    await post(blocks)
    await until(() => stateOf(verifier) === 'up-to-date')
  })

  it('names the channel that it waits for', async () => {
    const { verifier, blocks } = await startVerifier(6)
    const { from, to, input } = chain.batchOf(blocks)
    const [whole] = decodeFrames(input)
    if (whole === undefined) throw new Error('no frame')
    const half = { ...whole, data: whole.data.subarray(0, 40), isLast: false }
    const rest = { ...whole, number: 1, data: whole.data.subarray(40) }
    chain.l1.mine([{ from, to, input: encodeFrames([half]) }])
    await untilIdle()
    const status = verifier.node.derivationStatus()
    expect(status).toMatchObject({ state: 'waiting-for-channel', ok: true })
    expect(status.text).toContain(
      `channel ${shortHash(whole.channelId)}. 1 frame has arrived (40 bytes) since L1 block`,
    )
    expect(status.record.channels).toMatchObject([{ id: whole.channelId, frames: 1, bytes: 40 }])
    chain.l1.mine([{ from, to, input: encodeFrames([rest]) }])
    await until(() => stateOf(verifier) === 'up-to-date')
    expect(verifier.node.derivationStatus().record.channels).toEqual([])
  })

  it('warns before the sequencing window ends, and reports when it has ended', async () => {
    const { verifier } = await startVerifier(40, { seqWindowSize: 22 })
    await until(() => stateOf(verifier) === 'window-expiring')
    expect(verifier.node.derivationStatus().text).toMatch(
      /^The sequencing window of L2 block 1 ends in \d L1 blocks?, at block 22/,
    )
    await chain.advance(8)
    await until(() => stateOf(verifier) === 'window-expired')
    expect(verifier.node.derivationStatus().text).toContain('so derivation creates empty blocks')
  })

  it('names the error of a failing L1, and the reason of a reset', async () => {
    const { verifier, blocks } = await startVerifier(8)
    chain.l1.failure = new Error('L1 is out of order')
    chain.l1.mine()
    await until(() => stateOf(verifier) === 'failing')
    expect(verifier.node.derivationStatus().text).toContain('L1 is out of order')
    chain.l1.failure = undefined
    await chain.clock.advance(15_000)
    await until(() => stateOf(verifier) !== 'failing')
    await post(blocks.slice(0, 2))
    await until(() => verifier.node.syncStatus().safeL2.number === 2)
    chain.l1.rewind(2)
    for (let i = 0; i < 6; i++) chain.l1.mine()
    await untilIdle()
    await until(() => verifier.node.derivationStatus().record.lastReset?.doneAtMs !== undefined)
    expect(verifier.node.derivationStatus().record.lastReset?.reason).toContain('detected L1 reorg')
    await verifier.node.resetDerivationPipeline()
    expect(verifier.node.derivationStatus().record.lastReset?.reason).toBe('an operator requested it')
  })

  it('names an unknown fork, before which sequencer and verifier stop', async () => {
    chain = new TestChain({ unknownForks: [{ name: 'mars', time: GENESIS_TIME + 4 }] })
    const warnings: string[] = []
    const logger: RootLogger = {
      ...silentLogger,
      warn: (message: string) => void warnings.push(message),
      setLevel() {},
      child: () => logger,
    }
    const sequencer = await chain.addNode({ sequencing: {} })
    const verifier = await chain.addNode({ logger })
    expect(warnings).toEqual([
      'This version does not know the fork mars: it stops following the chain at 2023-11-14 22:13:24 UTC, in 4 s',
    ])
    await chain.advance(8)
    const blocks = sequencer.p2p.published
    expect(blocks.map(({ payload }) => payload.timestamp - GENESIS_TIME)).toEqual([1, 2, 3])
    for (const node of [sequencer, verifier]) expect(stateOf(node)).not.toBe('fork-unknown')
    await post(blocks)
    for (const node of [sequencer, verifier]) {
      await until(() => stateOf(node) === 'fork-unknown')
      expect(node.node.derivationStatus()).toMatchObject({ ok: false, safe: { number: 3 } })
      expect(node.node.derivationStatus().text).toContain('the fork mars (2023-11-14 22:13:24 UTC)')
      expect(node.failure).toBeUndefined()
    }
    // No empty block takes the place of one that cannot be derived.
    await chain.advance(240)
    expect(verifier.node.syncStatus()).toMatchObject({ safeL2: { number: 3 }, unsafeL2: { number: 3 } })
    expect(stateOf(verifier)).toBe('fork-unknown')
  })

  it('names the missing Lagoon bundle, before which sequencer and verifier stop', async () => {
    const lagoon = GENESIS_TIME + 4
    chain = new TestChain({ fork: 'karst', later: { lagoon } })
    const sequencer = await chain.addNode({ sequencing: {} })
    const verifier = await chain.addNode()
    await chain.advance(8)
    const blocks = sequencer.p2p.published
    expect(blocks.map(({ payload }) => payload.timestamp - GENESIS_TIME)).toEqual([1, 2, 3])
    await post(blocks)
    for (const node of [sequencer, verifier]) {
      await until(() => stateOf(node) === 'upgrade-bundle-missing')
      expect(node.node.derivationStatus()).toMatchObject({
        ...{ ok: false, safe: { number: 3 }, text: expect.stringContaining('--rollup.upgrade-bundle') },
        forks: { active: 'karst', next: { name: 'lagoon', time: lagoon, isReady: false } },
      })
      expect(node.failure).toBeUndefined()
    }
    // No empty block takes the place of the activation block.
    await chain.advance(240)
    expect(verifier.node.syncStatus()).toMatchObject({ safeL2: { number: 3 }, unsafeL2: { number: 3 } })

    const lagoonBundle = upgradeDepositsOf('jovian')
    const restarted = await chain.addNode({ engine: verifier.engine, lagoonBundle })
    await until(() => restarted.node.syncStatus().safeL2.number > 4)
    const activation = (await restarted.engine.payloadByNumber(4))?.payload
    expect(activation?.timestamp).toBe(lagoon)
    expect(activation?.transactions).toHaveLength(1 + lagoonBundle.length)
    expect(restarted.node.derivationStatus().forks).toEqual({ active: 'lagoon', next: undefined })
  })
})
