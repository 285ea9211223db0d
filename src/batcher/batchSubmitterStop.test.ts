import { describe, expect, it } from 'vitest'
import { BatcherStateError } from './batchSubmitter.ts'
import { readPostedBlocks, readPostedFrames } from './testUtils/l1Batches.ts'
import { submitterInTest } from './testUtils/submitterInTest.ts'
import { until } from './testUtils/until.ts'

const never = new AbortController().signal

describe('stop and start', () => {
  it('saves what is held to L1 before it stops, and starts again', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1, sender, chain } = setup
    node.unsafe = 7
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 7)
    expect(await readPostedFrames(l1, chain.config, sender)).toEqual([])

    await submitter.stop(never)
    expect(await node.safeNumber()).toBe(7)
    expect(log.of('Batch Submitter stopped')).toHaveLength(1)
    expect(submitter.isRunning).toBe(false)

    node.unsafe = 9
    submitter.start()
    await log.seen('Added L2 block to local state', 9)
    await submitter.stop(never)
    expect(await node.safeNumber()).toBe(9)
  })

  it('refuses to start what runs and to stop what does not', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const submitter = setup.create()
    await expect(submitter.stop(never)).rejects.toThrow('batcher is not running')
    expect(() => submitter.flush()).toThrow('batcher is not running')
    submitter.start()
    expect(() => submitter.start()).toThrow(BatcherStateError)
    expect(() => submitter.start()).toThrow('batcher is already running')
    const stopping = submitter.stop(never)
    await expect(submitter.stop(never)).rejects.toThrow('batcher is not running')
    await stopping
  })

  it('stops while the rollup node hangs', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    setup.node.syncStatusFault = 'hang'
    const submitter = setup.create({ networkTimeoutMs: 60_000 })
    submitter.start()
    await until(() => setup.node.syncStatusCalls > 0)
    await submitter.stop(never)
    expect(setup.log.of('Batch Submitter stopped')).toHaveLength(1)
  })

  it('gives the rest up when the caller of stop goes away', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1 } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 4
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 4)
    const caller = new AbortController()
    const stopped = submitter.stop(caller.signal)
    await log.seen('Transaction successfully published')
    caller.abort(new Error('client went away'))
    await stopped
    expect(log.of('Stopped before all data were saved to L1')).toHaveLength(1)
    expect(submitter.isRunning).toBe(false)
  })

  it('does not drain at the end of the program, but waits for what is on its way', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log, l1, sender, chain } = setup
    await l1.request('evm_setAutomine', [false])
    node.unsafe = 2
    const submitter = setup.create()
    submitter.start()
    await log.seen('Transaction successfully published')
    node.unsafe = 6
    await log.seen('Added L2 block to local state', 6)
    const done = submitter.shutdown()
    await setup.mine()
    await done
    expect((await readPostedBlocks(l1, chain.config, sender)).length).toBe(2)
    expect(log.of('Transaction confirmed')).toHaveLength(1)
  })

  it('sends an open channel at once when flushed', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 4
    const submitter = setup.create({ maxChannelDuration: 0 })
    submitter.start()
    await log.seen('Added L2 block to local state', 4)
    submitter.flush()
    await until(async () => (await node.safeNumber()) === 4)
    const closed = await log.seen('Channel closed')
    expect(closed.full_reason).toBe('channel full: channel terminated')
  })
})
