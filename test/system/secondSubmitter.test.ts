import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { roles } from '../../testnet/accounts.ts'
import { judgeOrder, SubmitterChain, type SubmitterProcess } from '../support/submitterChain.ts'

const FLAGS = [
  '--poll-interval=200ms',
  '--max-channel-duration=1',
  '--batch-type=1',
  '--num-confirmations=1',
  '--sub-safety-margin=4',
  '--resubmission-timeout=2s',
  '--txmgr.rebroadcast-interval=1s',
  '--txmgr.receipt-query-interval=200ms',
]

describe('a second submitter with the same key', () => {
  let chain: SubmitterChain
  beforeAll(async () => {
    chain = await SubmitterChain.start({ l1BlockTime: 1 })
    chain.startLoad({ bytesPerSecond: 1_000 })
  })
  afterAll(() => chain.stop())

  /** The submitter that ends, with its last log line. */
  async function loserOf(submitters: readonly SubmitterProcess[]): Promise<SubmitterProcess> {
    const loser = await Promise.race(submitters.map((submitter) => submitter.exited.then(() => submitter)))
    expect(await loser.exited).toBe(1)
    return loser
  }

  /** Expects that the line names a transaction of the other submitter. */
  async function expectNamesTransaction(loser: SubmitterProcess): Promise<void> {
    const hash = /second batch submitter uses this account: transaction (0x[0-9a-f]{64}) /.exec(loser.lines.join('\n'))
    const tx = await chain.l1.request('eth_getTransactionByHash', [hash?.[1]])
    expect(tx).toMatchObject({ from: roles.batcher.address, to: chain.config.batchInboxAddress })
  }

  async function expectGoesOn(submitter: SubmitterProcess): Promise<void> {
    const { unsafe } = await chain.heads()
    await expect.poll(async () => (await chain.heads()).safe.number).toBeGreaterThan(unsafe.number)
    expect(submitter.isRunning).toBe(true)
    expect(judgeOrder(await chain.postedChannels()).gaps).toEqual([])
  }

  it('started beside an active one: one ends, one continues', async () => {
    const first = chain.startSubmitter(FLAGS)
    await expectGoesOn(first)
    const second = chain.startSubmitter(FLAGS)
    const loser = await loserOf([first, second])
    await expectNamesTransaction(loser)
    await expectGoesOn(loser === first ? second : first)
    for (const submitter of [first, second]) await submitter.end('SIGKILL')
  }, 600_000)

  it.runIf(process.env.DEVIUM_LONG_FAULTS === 'all')(
    'started at the same time: one ends, one continues',
    async () => {
      const both = [chain.startSubmitter(FLAGS), chain.startSubmitter(FLAGS)]
      const loser = await loserOf(both)
      await expectNamesTransaction(loser)
      const [winner] = both.filter((submitter) => submitter !== loser)
      if (winner !== undefined) await expectGoesOn(winner)
      // The remaining submitter does not end too.
      await delay(5_000)
      expect(winner?.isRunning).toBe(true)
    },
    600_000,
  )
})
