import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { silentLogger } from '../../lib/logger.ts'
import { createInstantClock } from '../../lib/testUtils/instantClock.ts'
import { createSubmitterL1 } from '../l1/submitterL1.ts'
import { createBatcherMetrics } from '../submitter/metrics.ts'
import { createSteppedManager } from '../testUtils/steppedManager.ts'
import { TEST_BATCHER_OPTIONS } from '../testUtils/submitterSetup.ts'
import { ChainFollower } from './chainFollower.ts'

it('gives up loading to the head after five failed polls, one poll interval apart', async () => {
  const clock = createInstantClock()
  const triedAtMs: number[] = []
  const fail = async () => {
    throw new JsonRpcError(-32000, 'the node is starting')
  }
  const headNumber = async () => {
    triedAtMs.push(clock.now())
    return triedAtMs.length === 2 ? fail() : 4
  }
  const follower = new ChainFollower(
    {
      ...{ clock, logger: silentLogger, rollup: { request: fail }, connect: fail, onFatal: () => {} },
      l1: createSubmitterL1(fail, 1_000),
      l2: { chainId: fail, headNumber, async *blocks() {} },
      sender: createSteppedManager().manager,
      metrics: createBatcherMetrics(new Registry()),
      throttler: { update: () => {} },
    },
    { ...TEST_BATCHER_OPTIONS, pollIntervalMs: 6_000 },
  )
  await expect(follower.loadToHead(new AbortController().signal)).rejects.toMatchObject({ code: 'rollup-node-silent' })
  expect(triedAtMs).toEqual([0, 6_000, 12_000, 18_000, 24_000])
})
