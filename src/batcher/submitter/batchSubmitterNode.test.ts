import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { until } from '../../lib/testUtils/until.ts'
import { explainStatus, isHealthy } from '../admin/status.ts'
import { readPostedBlocks } from '../testUtils/l1Batches.ts'
import { expectedBlocks } from '../testUtils/recordedChain.ts'
import { submitterInTest } from '../testUtils/submitterInTest.ts'

describe('a submitter and its rollup node', () => {
  it.each([
    { fault: 'hang', networkTimeoutMs: 300, text: 'timed out' },
    { fault: 'error', networkTimeoutMs: 60_000, text: 'the engine is not reachable' },
  ] as const)(
    'warns while the node does not answer, and continues afterwards: $fault',
    async ({ fault, networkTimeoutMs, text }) => {
      const setup = await submitterInTest('granite-singular-zlib-calldata')
      const { node, log } = setup
      node.unsafe = 3
      node.syncStatusFault = fault
      setup.create({ networkTimeoutMs }).start()
      const warning = await log.seen('Error calculating L2 block range')
      expect(warning.lvl).toBe('warn')
      expect(warning.err).toContain(text)
      node.syncStatusFault = 'none'
      await node.derives(3)
    },
  )

  it('logs the same warning at most once in ten seconds', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.syncStatusFault = 'error'
    setup.create().start()
    await until(() => node.syncStatusCalls > 8)
    const lines = log.of('Error calculating L2 block range')
    expect(lines.length).toBeGreaterThan(7)
    const [first, ...later] = lines.filter(({ lvl }) => lvl === 'warn').map(({ t }) => Date.parse(String(t)))
    expect(first).toBeDefined()
    for (const [index, atMs] of later.entries()) expect(atMs - ([first, ...later][index] ?? 0)).toBeGreaterThan(9_000)
  })

  it('loads nothing while the node derives earlier L1 blocks again', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 3
    setup.create().start()
    await node.derives(3)
    node.currentL1 = 1
    node.unsafe = 5
    const warning = await log.seen('Error calculating L2 block range')
    expect(warning.err).toContain('currentL1')
    expect(log.of('Added L2 block to local state')).toHaveLength(3)
    node.currentL1 = undefined
    await node.derives(5)
  })

  it('waits for the node to reach the L1 head if configured', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 2
    node.currentL1 = 37
    setup.create({ waitNodeSync: true, checkRecentTxsDepth: 2 }).start()
    await log.seen('Waiting for the rollup node', 2)
    expect(log.of('Added L2 block to local state')).toEqual([])
    // The last two of 40 blocks have no transaction of ours.
    node.currentL1 = 38
    await node.derives(2)
  })

  it.each([
    { id: 'to the L1 head', waitNodeSync: true },
    { id: 'to our last transaction', waitNodeSync: true, checkRecentTxsDepth: 20 },
    { id: 'unless told otherwise', waitNodeSync: false },
  ])('posts no block twice if it starts before the node has derived the posted blocks: $id', async (options) => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain } = setup
    node.unsafe = 10
    const first = setup.create()
    first.start()
    await node.derives(10)
    await first.shutdown()

    // A restarted node: first before the block with the batch, then at it, then past it.
    const head = Number(await l1.request('eth_blockNumber', []))
    let safe = 0
    const { safeNumber } = node
    node.safeNumber = async () => {
      if (node.currentL1 === head) safe = Math.min(10, safe + 2)
      return safe
    }
    node.currentL1 = head - 1
    const callsBefore = node.syncStatusCalls
    setup.create(options).start()
    await until(() => node.syncStatusCalls > callsBefore + 4)
    node.currentL1 = head
    await until(() => safe === 10)
    node.safeNumber = safeNumber
    node.unsafe = 12
    await node.derives(12)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted.map(({ timestamp }) => timestamp)).toEqual(
      expectedBlocks(chain, 1, 12).map(({ timestamp }) => timestamp),
    )
  })

  it('posts no block twice while a restarted node reports a low safe head', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain } = setup
    node.unsafe = 10
    setup.create().start()
    await node.derives(10)
    const calls = node.syncStatusCalls
    await until(() => node.syncStatusCalls > calls + 1)
    let safe = 0
    const { safeNumber } = node
    node.safeNumber = async () => Math.min(10, safe++)
    await until(() => safe > 10)
    node.safeNumber = safeNumber
    node.unsafe = 12
    await node.derives(12)
    const posted = await readPostedBlocks(l1, chain.config, sender)
    expect(posted).toHaveLength(12)
  })

  it("waits for transactions of an earlier run in the L1's pool", async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, sender, chain, log } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 4
    const first = setup.create({}, { rebroadcastIntervalMs: 100 })
    first.start()
    await log.seen('Transaction successfully published')
    await first.shutdown()
    setup.create({}, {}).start()
    await log.seen('Waiting before loading blocks')
    await l1.request('evm_setAutomine', [true])
    await setup.mine()
    node.unsafe = 6
    await node.derives(6)
    expect(await readPostedBlocks(l1, chain.config, sender)).toHaveLength(6)
  })

  it('is not healthy while no blocks can be loaded from the execution client', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node } = setup
    node.unsafe = 3
    node.blockFault = true
    const submitter = setup.create()
    submitter.start()
    const why = () => explainStatus(submitter.status, 0)
    await until(() => why().includes('the database is being compacted'))
    expect(isHealthy(submitter.status)).toBe(false)
    node.blockFault = false
    await node.derives(3)
    await until(() => why() === 'all blocks of the rollup node are on L1')
    expect(isHealthy(submitter.status)).toBe(true)
  })

  it('is not healthy while the L1 does not answer what its pool holds', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, l1, log } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 4
    const first = setup.create()
    first.start()
    await log.seen('Transaction successfully published')
    await first.shutdown()
    const next = setup.create({ poolTimeoutMs: 60_000 })
    next.start()
    await log.seen('Waiting before loading blocks')
    expect(isHealthy(next.status)).toBe(true)
    setup.l1Fault = true
    await until(() => explainStatus(next.status, 0) === 'the L1 is unusable: connect ECONNREFUSED')
    expect(isHealthy(next.status)).toBe(false)
    setup.l1Fault = false
    await until(() => isHealthy(next.status))
  })

  it('counts blocks that it could not load in the load of the throttle', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 6
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 6)
    node.blockFault = true
    node.unsafe = 12
    await until(() => submitter.throttler.status.current_load === Math.round(2 * submitter.status.unsafeDaBytes))
  })

  it('ends with an error if L1 is another chain than in the rollup config', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    setup.chain.rollup.l1_chain_id = 1
    setup.create().start()
    const error = await until(() => setup.fatal[0])
    expect(error).toEqual(errorWith('usage', '--l1-eth-rpc', 900, 1))
  })
})
