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

  it('saves blocks that the L2 has made since the last look', async () => {
    const setup = await submitterInTest('granite-singular-zlib-calldata')
    const { node, log } = setup
    node.unsafe = 2
    const submitter = setup.create({ maxChannelDuration: 0, pollIntervalMs: 60_000 })
    submitter.start()
    await log.seen('Added L2 block to local state', 2)
    node.unsafe = 9
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
    const submitter = setup.create({ networkTimeoutMs: 300 })
    submitter.start()
    await until(() => setup.node.syncStatusCalls > 0)
    await expect(submitter.stop(never)).rejects.toThrow(
      'batcher stopped, but not all blocks are saved to L1 (the rollup node does not say where the chain stands)',
    )
    expect(setup.log.of('Batch Submitter stopped')).toHaveLength(0)
    expect(submitter.isRunning).toBe(false)
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
    stopped.catch(() => {})
    await log.seen('Transaction successfully published')
    caller.abort(new Error('client went away'))
    await expect(stopped).rejects.toThrow(
      'batcher stopped, but L2 block 1 and those after it are not saved to L1 (client went away); they are posted after the next start',
    )
    expect(log.of('Stopped before all data were saved to L1')[0]).toMatchObject({ first_unsaved: 1 })
    expect(log.of('Batch Submitter stopped')).toEqual([])
    expect(submitter.isRunning).toBe(false)

    await l1.request('evm_setAutomine', [true])
    await setup.mine()
    submitter.start()
    await submitter.stop(never)
    expect(await node.safeNumber()).toBe(4)
    expect(log.of('Batch Submitter stopped')).toHaveLength(1)
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
