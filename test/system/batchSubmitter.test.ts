import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RpcClient } from '../../src/jsonRpc/client.ts'
import { quantityToNumber, toQuantity } from '../../src/lib/hex.ts'
import { roles } from '../../testnet/accounts.ts'
import { startDeviumGeth } from '../support/deviumGeth.ts'
import { expectSameOutput, heads } from '../support/heads.ts'
import { newestForkKnownTo } from '../support/knownForks.ts'
import { startOpNode } from '../support/opNode.ts'
import { startProgram, stopPrograms } from '../support/programs.ts'
import { createRpcClients } from '../support/rpcClients.ts'
import { type RunningTestnet, startTestnet } from '../support/testnet.ts'

// Several submitters post a testnet's chain in turn, each with other settings, and our nodes derive it. A few settings by
// default; all of them with an op-node that derives them too: DEVIUM_OP_NODE=/path/to/op-node.
const opNode = process.env.DEVIUM_OP_NODE

const ALGORITHMS = ['zlib', 'brotli-9', 'brotli-10', 'brotli-11'] as const
const ALL = (['calldata', 'blobs'] as const).flatMap((da) => [
  { da, type: 'singular', compressor: 'none', algorithm: 'zlib' },
  ...(['shadow', 'ratio'] as const).flatMap((compressor) =>
    ALGORITHMS.map((algorithm) => ({ da, type: 'singular', compressor, algorithm })),
  ),
  ...ALGORITHMS.map((algorithm) => ({ da, type: 'span', compressor: 'shadow', algorithm })),
])
const SOME = [
  { da: 'calldata', type: 'singular', compressor: 'none', algorithm: 'zlib' },
  { da: 'blobs', type: 'singular', compressor: 'ratio', algorithm: 'brotli-9' },
  { da: 'blobs', type: 'span', compressor: 'shadow', algorithm: 'zlib' },
]
const SUBMITTER = fileURLToPath(new URL('../../src/cli/batchSubmitter.ts', import.meta.url))
/** Minimum number of blocks that each submitter posts. */
const BLOCKS = 3

const directory = mkdtempSync(join(tmpdir(), 'devium-batch-submitter-'))
const { connectTo, close } = createRpcClients()
let testnet: RunningTestnet
let l1: RpcClient
let sequencer: RpcClient
let followers: RpcClient[]

beforeAll(async () => {
  const fork = opNode === undefined ? [] : ['--fork', newestForkKnownTo({ opNode })]
  testnet = await startTestnet({ nodes: 2, args: fork })
  l1 = connectTo(testnet.l1.rpc)
  sequencer = connectTo(testnet.nodes[0]?.rollupRpc)
  followers = [connectTo(testnet.nodes[1]?.rollupRpc)]
  if (opNode !== undefined) {
    const geth = await startDeviumGeth(testnet.joinDir, directory)
    followers.push(connectTo(await startOpNode(opNode, geth, testnet, directory, testnet.l1.beacon)))
  }
  // Stops the testnet's own submitter.
  await connectTo(testnet.batcher.adminRpc).request('admin_stopBatcher', [])
}, 900_000)

afterAll(async () => {
  await stopPrograms()
  await close()
  await testnet?.stop()
  rmSync(directory, { recursive: true, force: true })
}, 900_000)

describe(`a chain posted in each way${opNode === undefined ? '' : ', beside op-node'}`, () => {
  it.each(opNode === undefined ? SOME : ALL)(
    'is derived again: $da, $type, $compressor, $algorithm',
    async ({ da, type, compressor, algorithm }) => {
      const { unsafe_l2: before } = await heads(sequencer)
      const l1From = quantityToNumber(await l1.request('eth_blockNumber', [])) + 1
      const program = startProgram(process.execPath, [
        SUBMITTER,
        `--l1-eth-rpc=${testnet.l1.rpc}`,
        `--l2-eth-rpc=${testnet.nodes[0]?.ethRpc}`,
        `--rollup-rpc=${testnet.nodes[0]?.rollupRpc}`,
        `--private-key=${roles.batcher.privateKey}`,
        `--data-availability-type=${da}`,
        `--batch-type=${type === 'span' ? 1 : 0}`,
        `--compressor=${compressor}`,
        `--compression-algo=${algorithm}`,
        '--max-channel-duration=1',
        '--sub-safety-margin=4',
        '--poll-interval=500ms',
        '--num-confirmations=1',
        '--txmgr.receipt-query-interval=200ms',
        '--rpc.port=0',
      ])
      const exited = new Promise((resolve) => program.once('exit', resolve))
      try {
        for (const node of [sequencer, ...followers]) {
          await expect
            .poll(async () => (await heads(node)).safe_l2.number)
            .toBeGreaterThanOrEqual(before.number + BLOCKS)
        }
        for (const follower of followers) await expectSameOutput(sequencer, follower)
      } finally {
        // Ends in every case, because the next submitter uses the same account.
        program.kill('SIGINT')
        await exited
        // Abandoned transactions may still be included.
        await expect.poll(waitingInPool).toBe(0)
      }
      expect(await typesOfBatches(l1From)).toEqual([da === 'blobs' ? '0x3' : '0x2'])
    },
    900_000,
  )
})

/** The batcher's transactions in L1's pool. */
async function waitingInPool(): Promise<number> {
  const nonceAt = async (block: string) =>
    quantityToNumber(await l1.request('eth_getTransactionCount', [roles.batcher.address, block]))
  return (await nonceAt('pending')) - (await nonceAt('latest'))
}

/** Types of the batcher's transactions from an L1 block on. */
async function typesOfBatches(from: number): Promise<string[]> {
  const head = quantityToNumber(await l1.request('eth_blockNumber', []))
  const types = new Set<string>()
  for (let number = from; number <= head; number++) {
    const block = (await l1.request('eth_getBlockByNumber', [toQuantity(number), true])) as {
      transactions: { from: string; type: string }[]
    }
    for (const { from: sender, type } of block.transactions)
      if (sender.toLowerCase() === roles.batcher.address) types.add(type)
  }
  return [...types]
}
