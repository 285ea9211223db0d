import { describe, expect, it } from 'vitest'
import type { RpcClient } from '../../jsonRpc/client.ts'
import { until } from '../../lib/testUtils/until.ts'
import { readPostedBlocks, readPostedFrames } from '../testUtils/l1Batches.ts'
import { expectedBlocks, type RecordedBlock } from '../testUtils/recordedChain.ts'
import { submitterInTest } from '../testUtils/submitterInTest.ts'
import { DEFAULT_THROTTLE } from '../testUtils/submitterSetup.ts'

async function pendingCount(l1: RpcClient): Promise<number> {
  const { pending } = (await l1.request('txpool_status', [])) as { pending: string }
  return Number(pending)
}

function withoutOrigin(blocks: Awaited<ReturnType<typeof readPostedBlocks>>) {
  return blocks.map(({ timestamp, transactions }) => ({
    timestamp,
    transactions: transactions.map((tx) => new Uint8Array(tx)),
  }))
}

/** The same blocks with other hashes from one number on. */
function forkedFrom(first: number, blocks: readonly RecordedBlock[]): RecordedBlock[] {
  const rename = (hash: string) => hash.replace('0x', '0xee').slice(0, 66)
  return blocks.map((block, number) => {
    if (number < first) return block
    const parentHash = number === first ? block.parentHash : rename(block.parentHash)
    return { ...block, hash: rename(block.hash), parentHash }
  })
}

it('logs blocks without users once a minute, and blocks with users each time', async () => {
  const setup = await submitterInTest('granite-singular-zlib-calldata')
  const { node, log } = setup
  const shown = () => log.lines.filter(({ lvl }) => lvl === 'info').map(({ msg }) => msg)
  setup.create().start()
  for (const number of [1, 2, 3]) {
    node.unsafe = number
    await log.seen('Channel is fully submitted', number)
  }
  const quiet = shown()
  expect(quiet.filter((msg) => /block to local|channel|transaction/i.test(msg))).toEqual([
    'Added L2 block to local state',
    'Transaction confirmed',
  ])
  // The first block with user transactions.
  node.unsafe = 4
  await log.seen('Channel is fully submitted', 4)
  expect(shown().slice(quiet.length)).toEqual([
    'Added L2 block to local state',
    'Channel closed',
    'Transaction confirmed',
    'Channel is fully submitted',
  ])
})

describe('posting', () => {
  it.each([
    { id: 'singular zlib', chain: 'granite-singular-zlib-calldata', options: {} },
    {
      id: 'singular brotli, many frames',
      chain: 'holocene-span-brotli-calldata',
      options: { compressionAlgorithm: 'brotli', maxL1TxSizeBytes: 1_000, targetNumFrames: 4 },
    },
    {
      id: 'span brotli',
      chain: 'holocene-span-brotli-calldata',
      options: { batchType: 'span', compressionAlgorithm: 'brotli-10' },
    },
    {
      id: 'span zlib, many frames at once',
      chain: 'holocene-span-brotli-calldata',
      options: { batchType: 'span', maxL1TxSizeBytes: 1_000, targetNumFrames: 4, maxPendingTx: 4 },
    },
    {
      id: 'uncompressed',
      chain: 'granite-singular-zlib-calldata',
      options: { compressor: 'none', maxL1TxSizeBytes: 2000 },
    },
  ] as const)('puts every block on L1 in order: $id', async ({ chain, options }) => {
    const setup = await submitterInTest(chain)
    const { node, l1, sender } = setup
    node.unsafe = 5
    setup.create(options).start()
    await node.derives(5)
    node.unsafe = 32
    await node.derives(32)
    const posted = await readPostedBlocks(l1, setup.chain.config, sender)
    expect(withoutOrigin(posted)).toEqual(expectedBlocks(setup.chain, 1, 32))
    const maxSize = 'maxL1TxSizeBytes' in options ? options.maxL1TxSizeBytes : 120_000
    for (const frame of await readPostedFrames(l1, setup.chain.config, sender))
      expect(frame.txSizeBytes).toBeLessThanOrEqual(maxSize)
    expect(setup.log.lines.filter(({ lvl }) => lvl === 'warn' || lvl === 'error')).toEqual([])
  })

  it('puts a backlog into one channel, although it is loaded in several requests', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 24
    setup.create().start()
    await node.derives(24)
    expect(log.of('Channel closed').map(({ oldest_l2, latest_l2 }) => [oldest_l2, latest_l2])).toEqual([[1, 24]])
  })

  it('keeps the next channel open until the previous channel is confirmed', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 2
    setup.create({ numConfirmations: 8 }, { numConfirmations: 8 }).start()
    await log.seen('Building Calldata transaction candidate')
    await log.seen('Transaction is in a block')
    for (let number = 3; number <= 8; number++) {
      node.unsafe = number
      await log.seen('Added L2 block to local state', number)
      await setup.mine()
    }
    await setup.mine(2)
    await log.seen('Building Calldata transaction candidate', 2)
    expect(log.of('Channel closed').map(({ oldest_l2, latest_l2 }) => [oldest_l2, latest_l2])).toEqual([
      [1, 2],
      [3, 8],
    ])
    await setup.mine(10)
  })

  it('continues at the safe head after a restart of the program', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain } = setup
    node.unsafe = 10
    const first = setup.create()
    first.start()
    await node.derives(10)
    await first.shutdown()
    node.unsafe = 20
    setup.create().start()
    await node.derives(20)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted.map(({ timestamp }) => timestamp)).toEqual(
      expectedBlocks(chain, 1, 20).map(({ timestamp }) => timestamp),
    )
  })

  it('posts blocks again that the rollup node did not derive from a complete channel', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain, log } = setup
    node.unsafe = 3
    node.frozenSafe = 0
    setup.create().start()
    await log.seen('Channel is fully submitted')
    await setup.mine(2)
    const cleared = await log.seen('Clearing state')
    expect(cleared.reason).toBe('sequencer did not make expected progress')
    await log.seen('Channel is fully submitted', 2)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted.slice(0, 6).map(({ timestamp }) => timestamp)).toEqual(
      [1, 2, 3, 1, 2, 3].map((number) => Number(chain.blocks[number]?.timestamp)),
    )
  })

  it('drops the blocks of an abandoned chain and posts the new one', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain, log } = setup
    node.unsafe = 4
    // The channel stays open, so none of the four blocks was sent when the chain changes.
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 4)
    node.blocks = forkedFrom(3, chain.blocks)
    node.unsafe = 6
    const reorg = await log.seen('Found L2 reorg')
    expect(reorg.block_number).toBe(5)
    await log.seen('Added L2 block to local state', 4 + 6)
    await submitter.stop()
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted.map(({ parentHash }) => parentHash)).toEqual(
      node.blocks.slice(1, 7).map(({ parentHash }) => parentHash),
    )
  })

  it('replaces unmined transactions of an abandoned chain by empty ones', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain, log } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 4
    setup.create().start()
    await log.seen('Transaction successfully published')
    node.blocks = forkedFrom(3, chain.blocks)
    await log.seen('sending a cancellation transaction to unblock txpool')
    await log.seen('Transaction successfully published', 2)
    await l1.request('evm_setAutomine', [true])
    await setup.mine()
    node.unsafe = 6
    await node.derives(6)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted.map(({ parentHash }) => parentHash)).toEqual(
      node.blocks.slice(1, 7).map(({ parentHash }) => parentHash),
    )
  })

  it('posts no blocks of an execution client that follows another chain than the rollup node', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain, log } = setup
    node.unsafe = 2
    const unrelated = chain.blocks.map((block) => ({ ...block, parentHash: `0xee${block.parentHash.slice(4)}` }))
    node.servedBlocks = unrelated
    setup.create().start()
    await log.seen('Found L2 reorg', 2)
    expect(await readPostedFrames(l1, chain.config, sender)).toEqual([])
    node.servedBlocks = undefined
    await node.derives(2)
  })

  it('continues after requests for blocks have failed', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 3
    node.blockFault = true
    setup.create().start()
    const warning = await log.seen('Error loading blocks, retrying on next tick')
    expect(warning).toMatchObject({ lvl: 'warn', err: expect.stringContaining('the database is being compacted') })
    node.blockFault = false
    await node.derives(3)
  })
})

it('starts after the genesis block if the node reports an empty local_safe_l2', async () => {
  const setup = await submitterInTest('granite-singular-zlib-calldata')
  setup.node.emptyLocalSafe = true
  setup.node.unsafe = 3
  setup.create().start()
  await setup.node.derives(3)
})

it('sends a channel of many frames before it times out, although each transaction needs many confirmations', async () => {
  const setup = await submitterInTest('holocene-span-brotli-calldata')
  const { node, log } = setup
  node.unsafe = 6
  // Sent one at a time, these frames need about 12 × 11 blocks. A channel lasts 50.
  const submitter = setup.create(
    { maxL1TxSizeBytes: 400, targetNumFrames: 12, batchType: 'span' },
    { numConfirmations: 10 },
  )
  submitter.start()
  const { num_frames: frames } = await log.seen('Channel closed')
  await log.seen('Transaction successfully published', Number(frames))
  const mining = setInterval(() => setup.mine().catch(() => {}), 50)
  try {
    await node.derives(6)
    await submitter.shutdown()
  } finally {
    clearInterval(mining)
  }
  expect(log.of('Channel timed out')).toEqual([])
  expect(log.of('Channel closed').map(({ num_frames }) => Number(num_frames) > 5)).toContain(true)
})

it('throttles the block builder while too much data is unsafe', async () => {
  const setup = await submitterInTest('granite-singular-zlib-calldata')
  const { node, l1 } = setup
  await l1.request('evm_setAutomine', [false])
  node.unsafe = 12
  const throttle = { ...DEFAULT_THROTTLE, type: 'step' as const, lowerThreshold: 500, upperThreshold: 1_000 }
  setup.create({ throttle, maxChannelDuration: 0 }).start()
  await until(() =>
    node.maxDaSizes.some(([maxTxBytes, maxBlockBytes]) => maxTxBytes === 150 && maxBlockBytes === 2_000),
  )
  await l1.request('evm_setAutomine', [true])
  for (const submitter of setup.submitters) submitter.flush()
  await node.derives(12)
  await until(() => node.maxDaSizes.at(-1)?.join() === '0,130000')
})

describe('an unreachable L1', () => {
  it('causes no gap and no change of order', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1, sender, chain } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 3
    setup.create({}, { maxRetries: 2, notInMempoolTimeoutMs: 300 }).start()
    await log.seen('Transaction successfully published')
    setup.l1Fault = true
    node.unsafe = 9
    await log.seen('Added L2 block to local state', 9)
    await setup.mine()
    setup.l1Fault = false
    await l1.request('evm_setAutomine', [true])
    await node.derives(9)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(withoutOrigin(posted)).toEqual(expectedBlocks(chain, 1, 9))
  })

  it('delays posting until the L1 is reachable', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 3
    const submitter = setup.create()
    submitter.start()
    await log.seen('Channel is fully submitted')
    setup.l1Fault = true
    node.unsafe = 5
    const warning = await log.seen('Failed to query L1 tip')
    expect(warning).toMatchObject({ lvl: 'warn', err: 'connect ECONNREFUSED' })
    setup.l1Fault = false
    await node.derives(5)
  })
})

describe('an L1 reorg', () => {
  it.each([1, 3])('that drops transactions has their data posted again, with %i in flight', async (maxPendingTx) => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain } = setup
    node.unsafe = 3
    setup
      .create(
        { maxPendingTx, maxL1TxSizeBytes: 2_000, targetNumFrames: 3 },
        // After a reorg, Anvil may keep earlier transactions in its pool and never mine them. A replacement helps, as
        // on any L1.
        { rebroadcastIntervalMs: 100, resubmissionTimeoutMs: 1_000 },
      )
      .start()
    await node.derives(3)
    // Anvil loses blocks if it drops some while it mines one: this test says when.
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 20
    await until(async () => {
      if ((await pendingCount(l1)) > 0) await setup.mine()
      return (await node.safeNumber()) >= 6
    })
    await until(async () => (await pendingCount(l1)) >= maxPendingTx)
    await l1.request('anvil_reorg', [Number(await l1.request('eth_blockNumber', [])) - 40, []])
    await l1.request('evm_setAutomine', [true])
    node.unsafe = 25
    const mining = setInterval(() => setup.mine().catch(() => {}), 250)
    await node.derives(25).finally(() => clearInterval(mining))
    expect(withoutOrigin(await readPostedBlocks(l1, chain.config, sender)).at(-1)).toEqual(
      expectedBlocks(chain, 25, 25)[0],
    )
  })
})
