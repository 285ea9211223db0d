import { expect, it, onTestFinished } from 'vitest'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { submitterInTest } from '../testUtils/submitterInTest.ts'
import { TEST_TX_OPTIONS } from '../testUtils/submitterSetup.ts'
import { createBatcherRpc } from './adminRpc.ts'

/** A submitter whose stop waits for an L1 block, and clients that call its RPC. */
async function submitterThatDrains() {
  const setup = await submitterInTest('granite-singular-zlib-calldata')
  const { l1, log, node } = setup
  await l1.request('evm_setAutomine', [false])
  node.unsafe = 4
  const batcher = setup.create({ maxChannelDuration: 0 })
  const { methods } = createBatcherRpc({ batcher, txManager: { tunables: TEST_TX_OPTIONS }, setLogLevel: () => {} })
  const app = createRpcApp({ dispatcher: createRpcDispatcher({ methods }) })
  const server = await serveApp(app, '127.0.0.1', 0, 'test')
  onTestFinished(server.close)
  const client = createPatientClient({ url: server.url })
  onTestFinished(client.close)
  await batcher.start()
  await log.seen('Added L2 block to local state', 4)

  /** A client disconnects during the stop. */
  const stopAndLeave = async () => {
    const leaving = new AbortController()
    const stopRequest = client.request('admin_stopBatcher', [], { signal: leaving.signal }).catch(() => 'has left')
    await log.seen('Transaction successfully published')
    leaving.abort()
    expect(await stopRequest).toBe('has left')
  }
  return { ...setup, batcher, client, stopAndLeave }
}

it('continues a stop whose caller has disconnected', async () => {
  const { l1, log, mine, node, stopAndLeave, batcher } = await submitterThatDrains()
  await stopAndLeave()
  await l1.request('evm_setAutomine', [true])
  await mine()
  await log.seen('Batch Submitter stopped')
  expect(await node.safeNumber()).toBe(4)
  expect(batcher.isRunning).toBe(false)
})

it('lets a second caller join the stop of one that has left', async () => {
  const { l1, log, mine, node, stopAndLeave, client } = await submitterThatDrains()
  await stopAndLeave()
  const joined = client.request('admin_stopBatcher', [])
  await l1.request('evm_setAutomine', [true])
  await mine()
  expect(await joined).toBeNull()
  expect(await node.safeNumber()).toBe(4)
  expect(log.of('Stopping Batch Submitter')).toHaveLength(1)
  expect(log.of('Batch Submitter stopped')).toHaveLength(1)
  await expect(client.request('admin_stopBatcher', [])).rejects.toMatchObject({ code: 'json-rpc' })
})

it('admin_stopBatcher fails if admin_startBatcher cancels the stop', async () => {
  const { log, client } = await submitterThatDrains()
  const stopped = client.request('admin_stopBatcher', [])
  const rejected = expect(stopped).rejects.toThrow(errorWith('json-rpc', 'admin_startBatcher'))
  await log.seen('Transaction successfully published')
  expect(await client.request('admin_startBatcher', [])).toBeNull()
  await rejected
  await expect(client.request('admin_startBatcher', [])).rejects.toMatchObject({ code: 'json-rpc' })
  expect(log.of('Batch Submitter stopped')).toEqual([])
})
