import { describe, expect, it } from 'vitest'
import { bigIntToBytes } from '../../lib/bytes.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { CONFIG_UPDATE_TOPIC, encodeFrames, l1InfoOfTransactions, upgradeDepositsOf } from '../protocol/index.ts'
import { FORKS, type Fork, type L1Log } from '../protocol/types.ts'
import { GENESIS_TIME, INBOX, L1_BLOCK_TIME, SYSTEM_CONFIG_CONTRACT, testConfig } from './testUtils/config.ts'
import { channelData, channelFrames, MiniChain } from './testUtils/miniChain.ts'

async function startedChain(
  fork: Fork | 'bedrock',
  overrides: Parameters<typeof testConfig>[1] = {},
): Promise<MiniChain> {
  const chain = new MiniChain(testConfig(fork, overrides))
  await chain.reset()
  return chain
}

/** L1 up to block 3 (time 18), and L2 sequenced up to block 9 (time 18). */
async function withNineBlocks(fork: Fork | 'bedrock', overrides: Parameters<typeof testConfig>[1] = {}) {
  const chain = await startedChain(fork, overrides)
  chain.l1.growTo(3)
  await chain.sequenceTo(9)
  return chain
}

/** The derived chain equals the sequenced chain up to `number`. */
function expectSequenced(chain: MiniChain, number: number): void {
  expect(chain.l2.head).toEqual(chain.sequenced.ref(number))
}

describe('derivation of posted batches', () => {
  it.each(['bedrock', ...FORKS] as const)('singular batches under the rules of %s', async (fork) => {
    const chain = await withNineBlocks(fork)
    chain.l1.add({ data: [channelData(chain.singulars(1, 9))] })
    expect(await chain.run()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expectSequenced(chain, 9)
    expect(chain.derived.every(({ isLastInSpan }) => isLastInSpan)).toBe(true)
    expect(chain.derived.every(({ derivedFrom }) => derivedFrom.number === 4)).toBe(true)
    expect(await chain.pipeline.step(chain.l2.head)).toEqual({ kind: 'idle' })
    expect(chain.pipeline.origin.number).toBe(4)
  })

  it.each(FORKS.slice(FORKS.indexOf('delta')))('span batches under the rules of %s', async (fork) => {
    const chain = await withNineBlocks(fork)
    chain.l1.add({ data: [channelData([chain.span(1, 4)])] })
    chain.l1.add({ data: [channelData([chain.span(5, 9)])] })
    await chain.run()
    expectSequenced(chain, 9)
    const holocene = FORKS.indexOf(fork) >= FORKS.indexOf('holocene')
    expect(chain.derived.map(({ isLastInSpan }) => isLastInSpan)).toEqual(
      [1, 2, 3, 4, 5, 6, 7, 8, 9].map((number) => holocene || number === 4 || number === 9),
    )
  })

  it.each(['granite', 'holocene'] as const)('a channel over several L1 blocks (%s)', async (fork) => {
    const chain = await withNineBlocks(fork)
    const frames = channelFrames([chain.span(1, 9)], 4, 'brotli-10')
    for (const frame of frames.slice(0, 3)) chain.l1.add({ data: [encodeFrames([frame])] })
    expect(await chain.run()).toEqual([])
    chain.l1.add({ data: [encodeFrames(frames.slice(3))] })
    expect(await chain.run()).toHaveLength(9)
    expectSequenced(chain, 9)
  })

  it('batches in any order before Holocene', async () => {
    const chain = await withNineBlocks('granite')
    const [first, second, third] = [chain.span(1, 3), chain.span(4, 6), chain.span(7, 9)]
    chain.l1.add({ data: [channelData([third]), channelData([second])] })
    expect(await chain.run()).toEqual([])
    chain.l1.add({ data: [channelData([first])] })
    expect(await chain.run()).toHaveLength(9)
    expectSequenced(chain, 9)
  })

  it('batches strictly in order since Holocene', async () => {
    const chain = await withNineBlocks('holocene')
    const [first, second] = [chain.span(1, 3), chain.span(4, 9)]
    chain.l1.add({ data: [channelData([second]), channelData([first])] })
    expect(await chain.run()).toEqual([1, 2, 3])
    chain.l1.add({ data: [channelData([second])] })
    expect(await chain.run()).toEqual([4, 5, 6, 7, 8, 9])
    expectSequenced(chain, 9)
  })

  it.each(['granite', 'holocene'] as const)('batches posted twice, overlapping (%s)', async (fork) => {
    const chain = await withNineBlocks(fork)
    chain.l1.add({ data: [channelData([chain.span(1, 5)]), channelData([chain.span(1, 5)])] })
    chain.l1.add({ data: [channelData([chain.span(3, 9)])] })
    await chain.run()
    expectSequenced(chain, 9)
  })

  it.each(['granite', 'holocene'] as const)('continues from any derived block (%s)', async (fork) => {
    const chain = await withNineBlocks(fork)
    chain.l1.add({ data: [channelData([chain.span(1, 6)])] }).add({ data: [channelData(chain.singulars(7, 9))] })
    await chain.run()
    for (let number = 8; number >= 0; number--) {
      chain.l2.rewindTo(number)
      await chain.reset()
      await chain.run()
      expectSequenced(chain, 9)
    }
  })

  it.each(['granite', 'holocene'] as const)('an invalid batch is dropped (%s)', async (fork) => {
    const chain = await withNineBlocks(fork)
    const [first] = chain.plans(1, 1)
    const foreign = new MiniChain(chain.config)
    foreign.l1.growTo(3, 'other')
    await foreign.sequenceTo(9)
    chain.l1.add({
      data: [channelData([foreign.span(1, 9)]), channelData(chain.singulars(1, 1)), Uint8Array.of(0, 1, 2)],
    })
    expect(await chain.run()).toEqual([1])
    expect(first?.timestamp).toBe(chain.l2.head.timestamp)
  })

  it('an invalid batch drops its channel since Holocene, but not before', async () => {
    for (const { fork, number } of [
      { fork: 'granite', number: 3 },
      { fork: 'holocene', number: 1 },
    ] as const) {
      const chain = await withNineBlocks(fork)
      const [one, two, three] = chain.singulars(1, 3)
      if (one === undefined || two === undefined || three === undefined) throw new Error('three batches')
      const [bad] = chain.singulars(3, 3)
      chain.l1.add({ data: [channelData([one, bad ?? one, two, three])] })
      await chain.run()
      expectSequenced(chain, number)
    }
  })
})

describe('times and limits', () => {
  it.each(['granite', 'holocene'] as const)('a channel that stays open too long is dropped (%s)', async (fork) => {
    const chain = await withNineBlocks(fork, { seqWindowSize: 1000 })
    const [head, tail] = channelFrames([chain.span(1, 9)], 2)
    if (head === undefined || tail === undefined) throw new Error('two frames')
    chain.l1.add({ data: [encodeFrames([head])] }).growTo(54)
    chain.l1.add({ data: [encodeFrames([tail])] })
    expect(await chain.run()).toEqual([])
    chain.l1.add({ data: [encodeFrames([head])] }).growTo(105)
    chain.l1.add({ data: [encodeFrames([tail])] })
    expect(await chain.run()).toHaveLength(9)
  })

  it.each(['bedrock', 'granite', 'holocene', 'isthmus'] as const)(
    'empty blocks replace missing batches after the sequencing window (%s)',
    async (fork) => {
      const chain = await startedChain(fork)
      chain.l1.growTo(9)
      expect(await chain.run()).toEqual([])
      // At L1 block 10 the window of epoch 0 (10 blocks) ends: empty batches fill its blocks up to L1 block 1.
      chain.l1.growTo(10)
      expect(await chain.run()).toEqual([1, 2])
      chain.l1.growTo(11)
      expect((await chain.run()).length).toBe(3)
      chain.l1.growTo(30)
      await chain.run()
      const blocks = chain.l2.blocks.slice(1)
      expect(blocks.every(({ payload }) => payload.transactions.length === 1)).toBe(true)
      const origins = blocks.map(({ payload }) => l1InfoOfTransactions(payload.transactions))
      expect(origins.at(-1)?.number).toBe(20)
      for (const [index, { payload }] of blocks.entries()) {
        const origin = origins[index]
        expect(origin && payload.timestamp - origin.timestamp).toBeGreaterThanOrEqual(0)
        expect((origin?.number ?? 0) - (origins[index - 1]?.number ?? 0)).toBeLessThanOrEqual(1)
      }
    },
  )

  it('every epoch with empty batches has a block, even if L1 is faster than L2', async () => {
    const chain = await startedChain('holocene', { blockTime: 20 })
    chain.l1.growTo(40)
    await chain.run()
    const origins = chain.l2.blocks.slice(1).map(({ payload }) => l1InfoOfTransactions(payload.transactions).number)
    expect(origins).toEqual(Array.from({ length: origins.length }, (_, index) => index + 1))
    expect(origins.length).toBeGreaterThan(25)
  })

  it.each(['granite', 'holocene'] as const)(
    'a batch in the last block of the window is accepted (%s)',
    async (fork) => {
      for (const { block, derived } of [
        { block: 10, derived: 1 },
        { block: 11, derived: 0 },
      ]) {
        const chain = await startedChain(fork)
        chain.l1.growTo(block - 1)
        await chain.sequenceTo(1)
        chain.l1.add({ data: [channelData(chain.singulars(1, 1))] })
        await chain.run()
        const withTransaction = chain.l2.blocks.filter(({ payload }) => payload.transactions.length > 1)
        expect(withTransaction).toHaveLength(derived)
      }
    },
  )
})

describe('changes on L1', () => {
  const updateLog = (type: number, word: Uint8Array): Omit<L1Log, 'logIndex'> => ({
    address: SYSTEM_CONFIG_CONTRACT,
    topics: [CONFIG_UPDATE_TOPIC, toHex(bigIntToBytes(0n, 32)), toHex(bigIntToBytes(BigInt(type), 32))],
    data: Uint8Array.from([...bigIntToBytes(32n, 32), ...bigIntToBytes(32n, 32), ...word]),
  })

  it('a new batcher address applies from the L1 block of its update', async () => {
    const newBatcher: Hex = `0x${'bb'.repeat(20)}`
    const chain = await withNineBlocks('holocene')
    const word = fromHex(newBatcher.slice(2).padStart(64, '0'), 32)
    const [one, two] = [channelData([chain.span(1, 3)]), channelData([chain.span(4, 9)])]
    chain.l1.add({ data: [one] })
    const byNew = { hash: toHex(word), type: 0, from: newBatcher, to: INBOX, input: two }
    chain.l1.add({ logs: [updateLog(0, word)], data: [two] })
    expect(await chain.run()).toEqual([1, 2, 3])
    chain.l1.add({ transactions: [byNew] })
    expect(await chain.run()).toEqual([4, 5, 6, 7, 8, 9])
  })

  it('a new gas limit applies from the first block of its epoch', async () => {
    const chain = await startedChain('holocene')
    chain.l1
      .add()
      .add({ logs: [updateLog(2, bigIntToBytes(77_000_000n, 32)), updateLog(99, bigIntToBytes(1n, 32))] })
      .add()
    await chain.sequenceTo(9)
    chain.l1.add({ data: [channelData([chain.span(1, 9)])] })
    await chain.run()
    expectSequenced(chain, 9)
    expect(chain.derived.map(({ attributes }) => attributes.gasLimit)).toEqual([
      ...Array.from({ length: 5 }, () => 30_000_000n),
      ...Array.from({ length: 4 }, () => 77_000_000n),
    ])
  })

  it('an L1 reorg requires a reset, and then derivation follows the new chain', async () => {
    const chain = await withNineBlocks('holocene')
    chain.l1.add({ data: [channelData([chain.span(1, 9)])] })
    await chain.run()
    chain.l1.rewindTo(1).growTo(3, 'fork').growTo(4, 'fork')
    expect(await chain.pipeline.step(chain.l2.head)).toEqual({ kind: 'idle' })
    chain.l1.growTo(5, 'fork')
    await expect(chain.pipeline.step(chain.l2.head)).rejects.toMatchObject({ code: 'l1-reorg', severity: 'reset' })
    // The safe head's origin was removed, so a reset also fails until the heads are found again.
    await expect(chain.reset()).rejects.toMatchObject({ code: 'l1-reorg', severity: 'reset' })
    await expect(chain.pipeline.step(chain.l2.head)).rejects.toMatchObject({ code: 'pipeline-not-ready' })
    chain.l2.rewindTo(5)
    chain.sequenced.rewindTo(5)
    await chain.sequenceTo(9)
    chain.l1.add({ fork: 'fork', data: [channelData([chain.span(6, 9)])] })
    await chain.reset()
    expect(await chain.run()).toEqual([6, 7, 8, 9])
    expectSequenced(chain, 9)
  })

  it('Holocene begins at the first L1 block of its time, and earlier channels are dropped', async () => {
    const holocene = GENESIS_TIME + 6 * L1_BLOCK_TIME
    const forks = Object.fromEntries(FORKS.slice(0, FORKS.indexOf('holocene')).map((fork) => [fork, 0]))
    const chain = await withNineBlocks('granite', { forks: { ...forks, holocene } })
    const [head, tail] = channelFrames([chain.span(1, 9)], 2)
    if (head === undefined || tail === undefined) throw new Error('two frames')
    const later = channelData([chain.span(4, 9)])
    // Block 4 has half a channel and a later batch, which the old rules buffer.
    chain.l1.add({ data: [encodeFrames([head]), later] }).add()
    expect(await chain.run()).toEqual([])
    chain.l1.add({ data: [encodeFrames([tail]), channelData([chain.span(1, 3)])] })
    expect(await chain.run()).toEqual([1, 2, 3])
    chain.l1.add({ data: [later] })
    expect(await chain.run()).toEqual([4, 5, 6, 7, 8, 9])
    expectSequenced(chain, 9)
  })

  it('Holocene requires frames in order only from its first L1 block', async () => {
    const forks = Object.fromEntries(FORKS.slice(0, FORKS.indexOf('holocene')).map((fork) => [fork, 0]))
    const chain = await withNineBlocks('granite', { forks: { ...forks, holocene: GENESIS_TIME + 6 * L1_BLOCK_TIME } })
    chain.l1.growTo(6)
    const [head, tail] = channelFrames([chain.span(1, 9)], 2)
    if (head === undefined || tail === undefined) throw new Error('expected two frames')
    chain.l1.add({ data: [encodeFrames([tail]), encodeFrames([head])] })
    expect(await chain.run()).toEqual([])
    expect(chain.events.filter(({ kind }) => kind === 'started')).toEqual([
      { kind: 'started', l1Block: 0 },
      { kind: 'started', l1Block: 6 },
    ])
  })

  it('a fork before Holocene in the same gap between L1 blocks delays the Holocene stages to the next reset', async () => {
    const at = GENESIS_TIME + 6 * L1_BLOCK_TIME
    const forks = Object.fromEntries(FORKS.slice(0, FORKS.indexOf('granite')).map((fork) => [fork, 0]))
    const chain = await withNineBlocks('fjord', { forks: { ...forks, granite: at - 1, holocene: at } })
    const [head, tail] = channelFrames([chain.span(1, 9)], 2)
    if (head === undefined || tail === undefined) throw new Error('two frames')
    // The channel bank still accepts frames out of order.
    chain.l1.growTo(5).add({ data: [encodeFrames([tail])] })
    expect(await chain.run()).toEqual([])
    chain.l1.add({ data: [encodeFrames([head])] })
    expect(await chain.run()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expectSequenced(chain, 9)
  })

  it('stops before an unknown fork', async () => {
    const unknownForks = [{ name: 'mars', time: GENESIS_TIME + 4 }]
    const chain = await startedChain('isthmus', { unknownForks })
    chain.l1.growTo(10)
    await expect(chain.run()).rejects.toMatchObject({ code: 'fork-unknown', severity: 'temporary' })
    expect(chain.l2.head.number).toBe(1)
  })

  it('stops before the activation block of Lagoon without its bundle, and continues with it', async () => {
    const forks = { karst: 0, lagoon: GENESIS_TIME + 4 }
    const without = await startedChain('karst', { forks })
    without.l1.growTo(10)
    await expect(without.run()).rejects.toMatchObject({ code: 'upgrade-bundle-missing', severity: 'temporary' })
    expect(without.l2.head.number).toBe(1)

    const lagoonBundle = upgradeDepositsOf('jovian')
    const chain = await startedChain('karst', { forks, lagoonBundle })
    chain.l1.growTo(10)
    await chain.run()
    const counts = chain.l2.blocks.slice(1, 3).map(({ payload }) => payload.transactions.length)
    expect(counts).toEqual([1, 1 + lagoonBundle.length])
  })
})

describe('the interface of the pipeline', () => {
  it('requires a reset first', async () => {
    const chain = new MiniChain(testConfig('holocene'))
    await expect(chain.run()).rejects.toMatchObject({ code: 'pipeline-not-ready', severity: 'reset' })
    expect(() => chain.pipeline.flushChannel()).not.toThrow()
    expect(() => chain.pipeline.origin).toThrow(errorWith('pipeline-not-ready'))
  })

  it('reports whether there was work, a new L1 block, or nothing', async () => {
    const chain = await withNineBlocks('holocene')
    chain.l1.add({ data: [Uint8Array.of(9)] })
    const kinds: string[] = []
    for (let kind = ''; kind !== 'idle'; kinds.push(kind)) ({ kind } = await chain.pipeline.step(chain.l2.head))
    expect([...new Set(kinds)].toSorted()).toEqual(['idle', 'origin', 'progress'])
    expect(kinds.filter((kind) => kind === 'origin')).toHaveLength(4)
  })

  it('flushes the channel after invalid attributes, and drops the rest of the span', async () => {
    const chain = await withNineBlocks('holocene')
    chain.l1.add({ data: [channelData([chain.span(1, 4), chain.span(5, 9)])] })
    for (;;) {
      const result = await chain.pipeline.step(chain.l2.head)
      if (result.kind !== 'attributes') continue
      const depositsOnly = result.derived.attributes.transactions.slice(0, 1)
      chain.l2.build({ ...result.derived.attributes, transactions: depositsOnly })
      chain.pipeline.flushChannel()
      break
    }
    expect(await chain.run()).toEqual([])
    expect(chain.l2.head.number).toBe(1)
  })

  it('returns to the safe head when a span batch fails before Holocene', async () => {
    const chain = await withNineBlocks('granite')
    chain.l1.add({ data: [channelData([chain.span(1, 5)])] })
    for (let built = 0; built < 3; ) {
      const result = await chain.pipeline.step(chain.l2.head)
      if (result.kind === 'attributes') built = chain.l2.build(result.derived.attributes).number
    }
    chain.l2.rewindTo(0)
    expect(await chain.run()).toEqual([])
    chain.l1.add({ data: [channelData(chain.singulars(1, 9))] })
    expect(await chain.run()).toHaveLength(9)
    expectSequenced(chain, 9)
  })

  it('requires a reset when the batch does not follow the given L2 block', async () => {
    const chain = await withNineBlocks('holocene')
    chain.l1.add({ data: [channelData([chain.span(1, 9)])] })
    await chain.run()
    chain.l2.rewindTo(0)
    const foreign = { ...chain.sequenced.ref(6), l1Origin: { number: 3, hash: `0x${'66'.repeat(32)}` as Hex } }
    await expect(chain.pipeline.step(foreign)).rejects.toMatchObject({ code: 'pipeline-mismatch', severity: 'reset' })
  })

  it('yields to the event loop', async () => {
    const chain = await startedChain('holocene', { maxSequencerDrift: 10_000, blockTime: 1 })
    await chain.sequenceTo(1500)
    chain.l1.add({ data: [channelData(chain.singulars(1, 1500))], time: 3000 })
    let turns = 0
    let running = true
    const tick = () => {
      turns++
      if (running) setImmediate(tick)
    }
    setImmediate(tick)
    expect(await chain.run()).toHaveLength(1500)
    running = false
    expect(turns).toBeGreaterThan(3)
  })

  it('stops with its signal', async () => {
    const chain = await withNineBlocks('holocene')
    await expect(chain.pipeline.step(chain.l2.head, AbortSignal.abort(new Error('shutdown')))).rejects.toThrow(
      'shutdown',
    )
    await expect(chain.pipeline.reset(chain.l2.head, AbortSignal.abort(new Error('shutdown')))).rejects.toThrow(
      'shutdown',
    )
  })
})
