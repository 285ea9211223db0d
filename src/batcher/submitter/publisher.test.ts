import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { ManualClock, systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { until } from '../../lib/testUtils/until.ts'
import { ZERO_HASH } from '../../rollup/protocol/types.ts'
import { CostWindow } from '../admin/status.ts'
import { createChannelConfig } from '../channel/channelConfig.ts'
import { ChannelManager, createChannelOut } from '../channel/channelManager.ts'
import { fixedChoice } from '../channel/daChoice.ts'
import { L1Heads } from '../l1/l1Heads.ts'
import type { TxReceipt } from '../l1/submitterL1.ts'
import { batcherBlocks, loadRecordedChain } from '../testUtils/recordedChain.ts'
import { TEST_BATCHER_OPTIONS } from '../testUtils/submitterSetup.ts'
import { createBatcherMetrics } from './metrics.ts'
import { Publisher } from './publisher.ts'

const chain = loadRecordedChain('holocene-span-brotli-calldata')
const recorded = await batcherBlocks(chain)
const head = { number: 0, hash: ZERO_HASH, timestamp: 0, parentHash: ZERO_HASH }

it.each(['singular', 'span'] as const)(
  'builds the next channels while a channel is being sent: %s',
  async (batchType) => {
    const now = chain.config.genesis.l2Time + 100
    const config = createChannelConfig(
      { ...TEST_BATCHER_OPTIONS, batchType, maxL1TxSizeBytes: 3_000 },
      chain.config,
      now,
    )
    const manager = new ChannelManager(
      { logger: silentLogger, metrics: createBatcherMetrics(new Registry()) },
      { da: fixedChoice(config), rollupConfig: chain.config },
    )
    const sends: PromiseWithResolvers<TxReceipt>[] = []
    const publisher = new Publisher(
      {
        manager,
        sender: {
          isClosed: false,
          send() {
            const sending = Promise.withResolvers<TxReceipt>()
            sends.push(sending)
            return sending.promise
          },
          cancelPending: async () => {},
        },
        heads: new L1Heads({ l1: { head: async () => head }, clock: systemClock }),
        clock: systemClock,
        logger: silentLogger,
        metrics: createBatcherMetrics(new Registry()),
        costs: new CostWindow(),
      },
      { batchInbox: chain.config.batchInboxAddress, maxPendingTx: 1, txsInFlight: 1, retryMs: 10 },
    )
    const stop = new AbortController()
    const running = publisher.run(stop.signal)
    for (const block of recorded) manager.addBlock(block)
    publisher.request()
    await expect.poll(() => manager.channels.filter(({ isClosed }) => isClosed).length).toBeGreaterThan(2)
    expect(sends).toHaveLength(1)
    stop.abort()
    await running
  },
)

it('retries once after each pause, however often it is asked during an L1 outage', async () => {
  const config = createChannelConfig(TEST_BATCHER_OPTIONS, chain.config, chain.config.genesis.l2Time)
  const metrics = createBatcherMetrics(new Registry())
  const manager = new ChannelManager(
    { logger: silentLogger, metrics },
    { da: fixedChoice(config), rollupConfig: chain.config },
  )
  const clock = new ManualClock()
  let asked = 0
  const l1 = {
    head: async () => {
      asked++
      throw new Error('unreachable')
    },
  }
  const sender = { isClosed: false, send: () => Promise.reject(new Error('unused')), cancelPending: async () => {} }
  const modules = { manager, sender, heads: new L1Heads({ l1, clock }), clock, logger: silentLogger, metrics }
  const publisher = new Publisher(
    { ...modules, costs: new CostWindow() },
    { batchInbox: chain.config.batchInboxAddress, maxPendingTx: 1, txsInFlight: 1, retryMs: 10 },
  )
  const stop = new AbortController()
  const running = publisher.run(stop.signal)
  for (let count = 0; count < 20; count++) {
    publisher.request()
    await clock.advance(1)
  }
  asked = 0
  for (let retries = 1; retries <= 10; retries++) {
    await clock.advance(10)
    await until(() => asked >= retries)
    expect(asked).toBe(retries)
  }
  stop.abort()
  await running
})

it('accepts and drops blocks while a channel is being compressed', async () => {
  const now = chain.config.genesis.l2Time + 100
  const config = createChannelConfig({ ...TEST_BATCHER_OPTIONS, batchType: 'span' }, chain.config, now)
  const compressing = Promise.withResolvers<void>()
  const manager = new ChannelManager(
    {
      logger: silentLogger,
      metrics: createBatcherMetrics(new Registry()),
      createOut(...args) {
        const out = createChannelOut(...args)
        const addBlock = out.addBlock.bind(out)
        out.addBlock = async (block) => {
          await compressing.promise
          return addBlock(block)
        }
        return out
      },
    },
    { da: fixedChoice(config), rollupConfig: chain.config },
  )
  for (const block of recorded.slice(0, 10)) manager.addBlock(block)
  const filling = manager.fill(0, { deadlines: false })
  for (const block of recorded.slice(10)) expect(manager.addBlock(block)).toBe(true)
  manager.prune(5)
  expect(manager.blocks).toHaveLength(recorded.length - 5)
  compressing.resolve()
  await filling
  expect(manager.pendingBlockCount).toBe(0)
})
