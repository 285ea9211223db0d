import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { until } from '../../lib/testUtils/until.ts'
import { readPostedBlocks, readPostedFrames } from '../testUtils/l1Batches.ts'
import { submitterInTest } from '../testUtils/submitterInTest.ts'

describe('stop and start', () => {
  it('saves the held blocks to L1 before it stops, and can be started again', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1, sender, chain } = setup
    node.unsafe = 7
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 7)
    expect(await readPostedFrames(l1, chain.config, sender)).toEqual([])

    await submitter.stop()
    expect(await node.safeNumber()).toBe(7)
    expect(log.of('Batch Submitter stopped')).toHaveLength(1)
    expect(submitter.isRunning).toBe(false)

    node.unsafe = 9
    submitter.start()
    await log.seen('Added L2 block to local state', 9)
    await submitter.stop()
    expect(await node.safeNumber()).toBe(9)
  })

  it('saves blocks that the L2 has built since the last poll', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 2
    const submitter = setup.create({ maxChannelDuration: 0, pollIntervalMs: 60_000 })
    submitter.start()
    await log.seen('Added L2 block to local state', 2)
    node.unsafe = 9
    await submitter.stop()
    expect(await node.safeNumber()).toBe(9)
  })

  it('refuses a start while it runs, and a stop or flush while it is stopped', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const submitter = setup.create()
    expect(() => submitter.stop()).toThrow(errorWith('batcher-not-running'))
    expect(() => submitter.flush()).toThrow(errorWith('batcher-not-running'))
    submitter.start()
    await expect(submitter.start()).rejects.toThrow(errorWith('batcher-running'))
    await submitter.stop()
    expect(() => submitter.stop()).toThrow(errorWith('batcher-not-running'))
  })

  it('saves the held blocks although a few requests to the execution client or the rollup node fail', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 4
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 4)
    const { safeNumber } = node
    let outOfSync = 0
    node.safeNumber = () => {
      // Negative: the stop has read the L2 head, and polls.
      if (node.headFaults < 0 && ++outOfSync > 2) node.currentL1 = undefined
      return safeNumber.call(node)
    }
    node.headFaults = 2
    node.currentL1 = 1
    await submitter.stop()
    expect(await node.safeNumber()).toBe(4)
  })

  it('stops while the rollup node hangs', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    setup.node.syncStatusFault = 'hang'
    const submitter = setup.create({ networkTimeoutMs: 300 })
    submitter.start()
    await until(() => setup.node.syncStatusCalls > 0)
    await expect(submitter.stop()).rejects.toMatchObject({
      code: 'batcher-unsaved',
      cause: { code: 'rollup-node-silent' },
    })
    expect(setup.log.of('Batch Submitter stopped')).toHaveLength(0)
    expect(submitter.isRunning).toBe(false)
  })

  it('posts the blocks that a failed stop has left after the next start', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1 } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 4
    const submitter = setup.create()
    submitter.start()
    await log.seen('Transaction successfully published')
    node.syncStatusFault = 'error'
    node.unsafe = 6
    const [first, second] = await Promise.allSettled([submitter.stop(), submitter.stop()])
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'batcher-unsaved' } })
    expect(second).toEqual(first)
    expect(log.of('Stopped before all data was saved to L1')).toHaveLength(1)
    expect(log.of('Stopped before all data was saved to L1')[0]).toMatchObject({ first_unsaved: 1 })
    expect(submitter.status).toMatchObject({ running: false, firstUnsaved: 1 })

    node.syncStatusFault = 'none'
    await l1.request('evm_setAutomine', [true])
    await setup.mine()
    submitter.start()
    await submitter.stop()
    expect(await node.safeNumber()).toBe(6)
    expect(log.of('Batch Submitter stopped')).toHaveLength(1)
  })

  it('chooses by the present prices for the blocks that a failed stop has left', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata', { hardfork: 'prague' })
    const { node, log, l1, sender, chain } = setup
    setup.blobBaseFee = 1n
    node.unsafe = 4
    const submitter = setup.create({ dataAvailability: 'auto', maxChannelDuration: 0 })
    submitter.start()
    await setup.blobBaseFeeRequested()
    await log.seen('Added L2 block to local state', 4)
    setup.l1Fault = true
    node.syncStatusFault = 'error'
    node.unsafe = 6
    await expect(submitter.stop()).rejects.toMatchObject({ code: 'batcher-unsaved' })

    setup.l1Fault = false
    node.syncStatusFault = 'none'
    setup.blobBaseFee = 1_000_000_000_000n
    submitter.start()
    await setup.blobBaseFeeRequested()
    await log.seen('Added L2 block to local state', 6)
    await submitter.stop()
    expect(await node.safeNumber()).toBe(6)
    const [frame] = await readPostedFrames(l1, chain.config, sender)
    expect(await l1.request('eth_getTransactionByHash', [frame?.txHash])).toMatchObject({ type: '0x2' })
  })

  it('continues if it is started during a stop', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1 } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 4
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 4)
    const stopped = submitter.stop()
    await log.seen('Transaction successfully published')
    expect(submitter.status).toMatchObject({ running: true, stopping: true })
    const started = submitter.start()
    await expect(stopped).rejects.toMatchObject({ code: 'batcher-stop-cancelled' })
    await started
    expect(submitter.status).toMatchObject({ running: true, stopping: false })
    await expect(submitter.start()).rejects.toMatchObject({ code: 'batcher-running' })

    // Transactions in flight continue, and newer blocks are loaded.
    node.unsafe = 6
    await log.seen('Added L2 block to local state', 6)
    await l1.request('evm_setAutomine', [true])
    await setup.mine()
    await submitter.stop()
    expect(await node.safeNumber()).toBe(6)
    expect(log.of('Batch Submitter stopped')).toHaveLength(1)
    expect(log.lines.filter(({ lvl }) => lvl === 'warn')).toEqual([])
  })

  it('starts a new run if it is started while a stop fails', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.syncStatusFault = 'error'
    const submitter = setup.create()
    submitter.start()
    await until(() => node.syncStatusCalls > 0)
    const stopped = submitter.stop()
    const started = stopped.catch(() => submitter.start())
    await expect(stopped).rejects.toMatchObject({ code: 'batcher-unsaved' })
    await started
    node.syncStatusFault = 'none'
    node.unsafe = 3
    await node.derives(3)
    expect(log.of('Batch Submitter stopped')).toEqual([])
  })

  it('ends a stop at the end of the program, without logging that all is saved', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1 } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 4
    const submitter = setup.create({}, { rebroadcastIntervalMs: 100 })
    submitter.start()
    await log.seen('Added L2 block to local state', 4)
    const stopped = submitter.stop()
    const failed = expect(stopped).rejects.toThrow(errorWith('batcher-unsaved', 1))
    await log.seen('Transaction successfully published')
    await submitter.shutdown()
    await failed
    expect(() => submitter.stop()).toThrow(errorWith('program-ending'))
    await expect(submitter.start()).rejects.toThrow(errorWith('program-ending'))
    expect(log.of('Batch Submitter stopped')).toEqual([])
  })

  it('keeps its status after a stop', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node } = setup
    node.unsafe = 4
    const submitter = setup.create()
    submitter.start()
    await submitter.stop()
    const { lastHour, l1, l1Head, lastLoaded, rollupNode } = submitter.status
    expect(lastHour.transactions).toBeGreaterThan(0)
    expect([l1, rollupNode].map(({ error, lastAnswerMs }) => [error, typeof lastAnswerMs])).toEqual([
      [undefined, 'number'],
      [undefined, 'number'],
    ])
    expect(l1Head).toBeGreaterThan(0)
    expect(lastLoaded?.number).toBe(4)

    submitter.start()
    expect(submitter.status).toMatchObject({ lastHour, lastLoaded: undefined })
  })

  it('does not wait for transactions at the end of the program, and the next start finds them', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1, sender, chain } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 2
    const submitter = setup.create()
    submitter.start()
    await log.seen('Transaction successfully published')
    node.unsafe = 6
    await log.seen('Added L2 block to local state', 6)
    await submitter.shutdown()
    expect(log.of('Stopped before all data was saved to L1')[0]).toMatchObject({ first_unsaved: 1 })
    expect(log.of('Batch Submitter stopped')).toEqual([])

    await l1.request('evm_setAutomine', [true])
    await setup.mine()
    expect((await readPostedBlocks(l1, chain.config, sender)).length).toBe(2)
    const next = setup.create({ maxChannelDuration: 0 })
    next.start()
    await next.stop()
    expect((await readPostedBlocks(l1, chain.config, sender)).length).toBe(6)
    expect(await node.safeNumber()).toBe(6)
  })

  it('does not lose a flush while a transaction is in flight', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1 } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 3
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 3)
    submitter.flush()
    await log.seen('Transaction successfully published')
    node.unsafe = 6
    await log.seen('Added L2 block to local state', 6)
    submitter.flush()
    await l1.request('evm_setAutomine', [true])
    await setup.mine()
    await node.derives(6)
  })

  it('does not lose a flush before the rollup node has answered', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node } = setup
    node.unsafe = 3
    node.syncStatusFault = 'error'
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    submitter.flush()
    await until(() => node.syncStatusCalls > 2)
    node.syncStatusFault = 'none'
    await node.derives(3)
  })

  it('does not lose a flush while the L1 does not answer', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 3
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 3)
    setup.l1Fault = true
    submitter.flush()
    await log.seen('Failed to query L1 tip')
    setup.l1Fault = false
    await node.derives(3)
  })

  it('sends an open channel at once when flushed', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 4
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 4)
    submitter.flush()
    await node.derives(4)
    const closed = await log.seen('Channel closed')
    expect(closed.full_reason).toBe('channel full: channel terminated')
  })
})
