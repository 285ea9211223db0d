import { describe, expect, it } from 'vitest'
import { readPostedBlocks } from './testUtils/l1Batches.ts'
import { batchTransactions } from './testUtils/recordedChain.ts'
import { submitterInTest } from './testUtils/submitterInTest.ts'
import { until } from './testUtils/until.ts'

describe('posting in blobs', () => {
  it.each([
    { id: 'an L1 of Prague, blob proofs', hardfork: 'prague', cellProofTime: undefined },
    { id: 'an L1 of Osaka, cell proofs', hardfork: 'osaka', cellProofTime: 1 },
  ])('puts every block on L1 in order: $id', async ({ hardfork, cellProofTime }) => {
    const setup = await submitterInTest('holocene-span-brotli-calldata', { hardfork })
    const { node, l1, sender, chain, log } = setup
    node.unsafe = 12
    setup.create({ dataAvailability: 'blobs', batchType: 'span' }, { cellProofTime }).start()
    await until(async () => (await node.safeNumber()) === 12)
    node.unsafe = 32
    await until(async () => (await node.safeNumber()) === 32)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted.map(({ transactions }) => transactions.map((tx) => new Uint8Array(tx)))).toEqual(
      Array.from({ length: 32 }, (_, index) => batchTransactions(chain, index + 1)),
    )
    expect(log.of('Building Blob transaction candidate').length).toBeGreaterThan(1)
    expect(log.lines.filter(({ lvl }) => lvl === 'warn' || lvl === 'error')).toEqual([])
  })
})
