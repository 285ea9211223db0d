import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DeviumError } from '../../lib/errors.ts'
import { silentLogger } from '../../lib/logger.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { encodeFrames, type Frame } from '../protocol/index.ts'
import { createDerivationPipeline } from './pipeline.ts'
import { testConfig } from './testUtils/config.ts'
import { channelFrames, MiniChain } from './testUtils/miniChain.ts'
import type { L2Source } from './types.ts'

const RULES = ['bedrock', 'granite', 'holocene'] as const

/** A chain of nine blocks, and the frames of channels with all their batches. */
async function preparedChain(fork: (typeof RULES)[number]) {
  const chain = new MiniChain(testConfig(fork))
  chain.l1.growTo(3)
  await chain.sequenceTo(9)
  const frames =
    fork === 'bedrock'
      ? channelFrames(chain.singulars(1, 9), 3)
      : [...channelFrames([chain.span(1, 5), ...chain.singulars(6, 7)], 3), ...channelFrames([chain.span(8, 9)], 2)]
  return { chain, frames }
}

describe.each(RULES)('derivation under the rules of %s', (fork) => {
  it('accepts any batcher bytes without throwing', async () => {
    const bytes = fc.uint8Array({ maxLength: 200 })
    const frame: fc.Arbitrary<Frame> = fc.record({
      channelId: fc.constantFrom<`0x${string}`>(`0x${'01'.repeat(16)}`, `0x${'02'.repeat(16)}`),
      number: fc.integer({ min: 0, max: 4 }),
      data: fc.oneof(bytes, fc.constantFrom(Uint8Array.of(0x78, 0x9c), Uint8Array.of(1))),
      isLast: fc.boolean(),
    })
    const data = fc.oneof(
      bytes,
      bytes.map((tail) => Uint8Array.from([0, ...tail])),
      fc.array(frame, { minLength: 1, maxLength: 5 }).map((frames) => encodeFrames(frames)),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(data, { maxLength: 4 }), { maxLength: 5 }), async (blocks) => {
        const chain = new MiniChain(testConfig(fork))
        await chain.reset()
        for (const content of blocks) chain.l1.add({ data: content })
        expect(await chain.run()).toEqual([])
        expect(chain.pipeline.origin.number).toBe(blocks.length)
      }),
      { numRuns: propertyRuns(150) },
    )
  })

  it('ends on a chain of linked blocks for any damage in a channel', async () => {
    const { chain: original, frames } = await preparedChain(fork)
    const damage = fc.array(
      fc.record({ frame: fc.nat(frames.length - 1), at: fc.nat(10_000), xor: fc.integer({ min: 1, max: 255 }) }),
      { minLength: 1, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(damage, fc.integer({ min: 1, max: 3 }), async (changes, perBlock) => {
        const chain = new MiniChain(testConfig(fork))
        chain.l1.growTo(3)
        await chain.sequenceTo(9)
        expect(chain.sequenced.head).toEqual(original.sequenced.head)
        const encoded = frames.map((frame) => encodeFrames([frame]))
        for (const { frame, at, xor } of changes) {
          const target = encoded[frame]
          if (target !== undefined) target[at % target.length] = (target[at % target.length] ?? 0) ^ xor
        }
        for (let i = 0; i < encoded.length; i += perBlock) chain.l1.add({ data: encoded.slice(i, i + perBlock) })
        await chain.reset()
        await chain.run()
        expect(chain.pipeline.origin.number).toBe(chain.l1.head)
        expectLinked(chain)
      }),
      { numRuns: propertyRuns(100) },
    )
  })

  it('derives the same chain despite failures of L1 and L2', async () => {
    await fc.assert(
      fc.asyncProperty(fc.infiniteStream(fc.nat(3)), async (failures) => {
        const { chain, frames } = await preparedChain(fork)
        for (const frame of frames) chain.l1.add({ data: [encodeFrames([frame])] })
        chain.l1.growTo(30)
        const reference = await referenceRun(chain)
        const derived = await runWithFailures(chain, () => failures.next().value === 0)
        expect(derived).toEqual(reference)
        expect(derived.length).toBeGreaterThan(9)
      }),
      { numRuns: propertyRuns(15) },
    )
  })
})

/** A changed bit may produce another valid block. The invariant is that each block follows the previous one. */
function expectLinked(chain: MiniChain): void {
  for (const [index, { payload }] of chain.l2.blocks.entries()) {
    if (index > 0) expect(payload.parentHash).toBe(chain.l2.blocks[index - 1]?.payload.blockHash)
  }
}

async function referenceRun(chain: MiniChain): Promise<string[]> {
  await chain.reset()
  await chain.run()
  const hashes = chain.l2.blocks.map(({ payload }) => payload.blockHash)
  chain.l2.rewindTo(0)
  return hashes
}

/** Runs a pipeline whose L1 and L2 fail when `fails` returns true. Each step is repeated until it succeeds. */
async function runWithFailures(chain: MiniChain, fails: () => boolean): Promise<string[]> {
  const failing = <A extends unknown[], R>(call: (...args: A) => Promise<R>) => {
    return async (...args: A): Promise<R> => {
      if (fails()) throw new DeviumError('test-failure', 'made to fail')
      return await call(...args)
    }
  }
  const { l1 } = chain
  const l2: L2Source = {
    blockRefByHash: failing((hash) => chain.l2.blockRefByHash(hash)),
    blockRefByNumber: failing((number) => chain.l2.blockRefByNumber(number)),
    payloadByNumber: failing((number) => chain.l2.payloadByNumber(number)),
    systemConfigByL2Hash: failing((hash) => chain.l2.systemConfigByL2Hash(hash)),
  }
  const pipeline = createDerivationPipeline(
    {
      l1: {
        blockInfoByHash: failing((hash) => l1.blockInfoByHash(hash)),
        blockInfoByNumber: failing((number) => l1.blockInfoByNumber(number)),
        transactions: failing((hash) => l1.transactions(hash)),
        receipts: failing((hash) => l1.receipts(hash)),
      },
      l2,
      logger: silentLogger,
    },
    chain.config,
  )
  const untilItWorks = async <T>(operation: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await operation()
      } catch (error) {
        if (!(error instanceof DeviumError) || error.code !== 'test-failure') throw error
      }
    }
  }
  await untilItWorks(() => pipeline.reset(chain.l2.head))
  for (;;) {
    const result = await untilItWorks(() => pipeline.step(chain.l2.head))
    if (result.kind === 'idle') return chain.l2.blocks.map(({ payload }) => payload.blockHash)
    if (result.kind === 'attributes') chain.l2.build(result.derived.attributes)
  }
}
