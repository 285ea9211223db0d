import { expect, it } from 'vitest'
import { readPostedBlocks } from './testUtils/l1Batches.ts'
import { batchTransactions } from './testUtils/recordedChain.ts'
import { submitterInTest } from './testUtils/submitterInTest.ts'
import { until } from './testUtils/until.ts'

/** The same faults in each run, as far as the machine's timing allows. */
function chances(seed: number): (share: number) => boolean {
  let state = seed
  return (share) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31 < share
  }
}

it.each(['calldata', 'blobs'] as const)(
  'gets everything to an L1 that errs, drops blocks and raises its fees: %s',
  { timeout: 120_000 },
  async (dataAvailability) => {
    const setup = await submitterInTest('holocene-span-brotli-calldata', {
      hardfork: 'prague',
      args: ['--slots-in-an-epoch', '1'],
    })
    const { node, l1, chain, sender, log } = setup
    await l1.request('evm_setAutomine', [false])
    const happens = chances(3)
    const height = async () => Number(await l1.request('eth_blockNumber', []))
    const mining = setInterval(() => setup.mine().catch(() => {}), 200)
    const submitter = setup.create(
      { dataAvailability, batchType: 'span', maxL1TxSizeBytes: 700, targetNumFrames: 3, networkTimeoutMs: 1_000 },
      {
        numConfirmations: 3,
        rebroadcastIntervalMs: 200,
        resubmissionTimeoutMs: 1_500,
        notInMempoolTimeoutMs: 2_000,
        maxRetries: 3,
      },
    )
    submitter.start()
    for (let round = 1; round <= 40; round++) {
      node.unsafe = Math.min(32, Math.ceil((32 * round) / 36))
      setup.l1Fault = happens(0.25)
      if (happens(0.15)) await l1.request('anvil_setNextBlockBaseFeePerGas', ['0x4a817c800'])
      const head = await height()
      await until(async () => (await height()) > head)
      if (round % 8 === 0) await l1.request('anvil_reorg', [3, []])
    }
    setup.l1Fault = false
    try {
      await until(async () => (await node.safeNumber()) === 32)
      await submitter.shutdown()
    } finally {
      clearInterval(mining)
      await l1.request('evm_setAutomine', [true])
    }
    const posted = new Map(
      (await readPostedBlocks(l1, chain.config, sender)).map((block) => [block.timestamp, block.transactions]),
    )
    for (let number = 1; number <= 32; number++) {
      const transactions = posted.get(Number(chain.blocks[number]?.timestamp))
      expect(transactions?.map((tx) => new Uint8Array(tx))).toEqual(batchTransactions(chain, number))
    }
    expect(log.lines.filter(({ lvl }) => lvl === 'error')).toEqual([])
  },
)
