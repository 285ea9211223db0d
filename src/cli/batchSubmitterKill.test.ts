import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { blocksOfChannel, channelsOf, readPostedFrames } from '../batcher/testUtils/l1Batches.ts'
import { batchTransactions } from '../batcher/testUtils/recordedChain.ts'
import { submitterInTest } from '../batcher/testUtils/submitterInTest.ts'
import { BATCHER_KEY, type SubmitterSetup } from '../batcher/testUtils/submitterSetup.ts'
import { until } from '../batcher/testUtils/until.ts'

const BIN = fileURLToPath(new URL('../../bin/devium-batch-submitter.mjs', import.meta.url))

function start(setup: SubmitterSetup): ChildProcess {
  const args = [
    `--l1-eth-rpc=${setup.anvil.url}`,
    `--l2-eth-rpc=${setup.node.url}`,
    `--rollup-rpc=${setup.node.url}`,
    '--poll-interval=50ms',
    '--max-channel-duration=1',
    '--max-l1-tx-size-bytes=600',
    '--target-num-frames=3',
    '--num-confirmations=2',
    '--sub-safety-margin=4',
    '--txmgr.receipt-query-interval=50ms',
    '--rpc.port=0',
  ]
  const env = { PATH: process.env.PATH ?? '', DEVIUM_BATCH_SUBMITTER_PRIVATE_KEY: BATCHER_KEY }
  return spawn(process.execPath, [BIN, ...args], { env, stdio: 'ignore' })
}

/** Each takes some seconds. */
const KILLS = Number(process.env.DEVIUM_BATCHER_KILLS ?? 5)

/** The same moments in each run. */
function moments(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

it('loses nothing and posts at most one channel twice for each time that it is killed', {
  timeout: 180_000,
}, async () => {
  const setup = await submitterInTest('holocene-span-brotli-calldata', { blockTime: 1 })
  const { node, l1, chain, sender } = setup
  const next = moments(7)
  for (let kill = 0; kill < KILLS; kill++) {
    const program = start(setup)
    node.unsafe = Math.ceil((32 * (kill + 1)) / KILLS)
    // A start takes some 700 ms here, an L1 block one second.
    await delay(600 + 2_500 * next())
    program.kill('SIGKILL')
    await once(program, 'exit')
  }
  node.unsafe = 32
  const last = start(setup)
  try {
    await until(async () => (await node.safeNumber()) === 32)
  } finally {
    last.kill('SIGKILL')
    await once(last, 'exit')
  }
  const channels = channelsOf(await readPostedFrames(l1, chain.config, sender))
  let safe = 0
  let repeated = 0
  for (const { data } of channels) {
    const numbers = blocksOfChannel(data, chain.config).map(({ timestamp }) =>
      chain.blocks.findIndex((block) => Number(block.timestamp) === timestamp),
    )
    // Within a channel and from one to the next no block is left out.
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index))
    expect(numbers[0]).toBeLessThanOrEqual(safe + 1)
    if ((numbers[0] ?? 0) <= safe) repeated++
    safe = Math.max(safe, numbers.at(-1) ?? 0)
  }
  expect(repeated).toBeLessThanOrEqual(KILLS)
  const posted = new Map(
    channels.flatMap(({ data }) => blocksOfChannel(data, chain.config)).map((block) => [block.timestamp, block]),
  )
  for (let number = 1; number <= 32; number++) {
    const block = posted.get(Number(chain.blocks[number]?.timestamp))
    expect(block?.transactions.map((tx) => new Uint8Array(tx))).toEqual(batchTransactions(chain, number))
  }
})
