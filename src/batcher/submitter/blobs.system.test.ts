import { describe, expect, it, vi } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { readPostedBlocks, readPostedFrames } from '../testUtils/l1Batches.ts'
import { batchTransactions } from '../testUtils/recordedChain.ts'
import { submitterInTest } from '../testUtils/submitterInTest.ts'

// Blob proofs and Anvil's first blob take seconds of an idle processor each.
vi.setConfig({ testTimeout: 300_000 })

describe('posting in blobs', () => {
  it.each([
    { id: 'an L1 of Prague, blob proofs', hardfork: 'prague', cellProofTime: undefined },
    { id: 'an L1 of Osaka, cell proofs', hardfork: 'osaka', cellProofTime: 1 },
  ])('puts every block on L1 in order: $id', async ({ hardfork, cellProofTime }) => {
    const setup = await submitterInTest('holocene-span-brotli-calldata', { hardfork })
    const { node, l1, sender, chain, log } = setup
    node.unsafe = 12
    setup.create({ dataAvailability: 'blobs', batchType: 'span' }, { cellProofTime }).start()
    await node.derives(12)
    node.unsafe = 32
    await node.derives(32)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted.map(({ transactions }) => transactions.map((tx) => new Uint8Array(tx)))).toEqual(
      Array.from({ length: 32 }, (_, index) => batchTransactions(chain, index + 1)),
    )
    expect(log.of('Building Blob transaction candidate').length).toBeGreaterThan(1)
    expect(log.lines.filter(({ lvl }) => lvl === 'warn' || lvl === 'error')).toEqual([])
  })
})

describe('--data-availability-type auto', () => {
  it('posts in blobs while blobs are cheap, in calldata while they are expensive, and in blobs again', async () => {
    const setup = await submitterInTest('holocene-span-brotli-calldata', { hardfork: 'prague' })
    const { node, l1, sender, chain, log } = setup
    const post = async (unsafe: number) => {
      node.unsafe = unsafe
      await until(async () => (await node.safeNumber()) === unsafe)
      const frames = await readPostedFrames(l1, chain.config, sender)
      const tx = await l1.request('eth_getTransactionByHash', [frames.at(-1)?.txHash])
      return (tx as { type: string }).type
    }
    setup.create({ dataAvailability: 'auto', batchType: 'span', maxChannelDuration: 1 }).start()
    expect(await post(8)).toBe('0x3')
    await log.seen('Channel is fully submitted')
    setup.blobBaseFee = 1_000_000_000_000n
    await setup.blobBaseFeeRequested()
    expect(await post(16)).toBe('0x2')
    await log.seen('Channel is fully submitted', 2)
    setup.blobBaseFee = 1n
    await setup.blobBaseFeeRequested()
    expect(await post(24)).toBe('0x3')
    expect(log.of('Channel is fully submitted')[1]?.saved_against_calldata_gwei).toBe(0)
    expect(log.of('Channel is fully submitted')[0]).toMatchObject({
      cost_gwei: expect.any(Number),
      saved_against_calldata_gwei: expect.any(Number),
      input_bytes: expect.any(Number),
      output_bytes: expect.any(Number),
      compr_ratio: expect.any(Number),
    })
    expect(log.lines.filter(({ lvl }) => lvl === 'warn' || lvl === 'error')).toEqual([])
  })
})
