import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { BatcherOptions } from '../../src/batcher/submitter/options.ts'
import { SequencerNode } from '../../src/batcher/testUtils/sequencerNode.ts'
import { BATCHER_KEY } from '../../src/batcher/testUtils/submitterSetup.ts'
import { createLocalSigner } from '../../src/batcher/txmgr/signer.ts'
import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { fromHex, quantityToBigInt, quantityToNumber, toQuantity } from '../../src/lib/hex.ts'
import { BLOB_BYTES } from '../../src/rollup/protocol/index.ts'
import { startAnvil } from '../../test/support/anvil.ts'
import { claimPort } from '../../test/support/programs.ts'
import { type BenchChain, madeChain } from './chains.ts'

const OURS = fileURLToPath(new URL('../../src/cli/batchSubmitter.ts', import.meta.url))
/** On a busy machine the slowest compressors take minutes. */
const POSTED_WITHIN_MS = 1_200_000
/** Wei for each gas. Fixed, so that both pay the same. */
const GAS_PRICE_WEI = 10_000_000_000n

type Setting = Pick<BatcherOptions, 'batchType' | 'compressionAlgorithm' | 'dataAvailability'>

const SETTINGS: readonly Setting[] = (['calldata', 'blobs'] as const).flatMap((dataAvailability) =>
  (['singular', 'span'] as const).flatMap((batchType) =>
    (['zlib', 'brotli-10'] as const).map(
      (compressionAlgorithm): Setting => ({
        batchType,
        compressionAlgorithm,
        dataAvailability,
      }),
    ),
  ),
)

interface Posted {
  transactions: number
  /** Bytes of calldata, or of whole blobs. */
  bytes: number
  costWei: bigint
}

export interface RivalOptions {
  /** Number of blocks in the chain. */
  blocks: number
  /** Runs only the settings that contain all of these words. */
  only: readonly string[]
}

/** op-batcher and ours post the same chain, each on its own L1. Returns true if ours needs no more bytes in any row. */
export async function besideOpBatcher(binary: string, { blocks, only }: RivalOptions): Promise<boolean> {
  const chain = madeChain(blocks)
  // op-batcher of 2024 lacks some of the flags.
  const help = execFileSync(binary, ['--help'], { encoding: 'utf8' })
  console.log(`\n${chain.name}, posted by op-batcher and by ours; cost at 10 gwei for gas and for blob gas`)
  console.log('data      batches   algorithm  bytes (op-batcher, ours)   share  cost, gwei (op-batcher, ours)    share')
  let areMet = true
  for (const setting of SETTINGS) {
    const words: readonly string[] = Object.values(setting)
    if (!only.every((word) => words.includes(word))) continue
    const theirs = await post(chain, setting, (args) =>
      spawn(
        binary,
        args.filter((arg) => help.includes(arg.replace(/=.*/, ' '))),
        { stdio: 'ignore' },
      ),
    )
    const ours = await post(chain, setting, (args) => spawn(process.execPath, [OURS, ...args], { stdio: 'ignore' }))
    const bytesShare = ours.bytes / theirs.bytes
    const costShare = Number(ours.costWei) / Number(theirs.costWei)
    const isMet = bytesShare <= 1 && costShare <= 1
    areMet &&= isMet
    const gwei = ({ costWei }: Posted) => String(costWei / 1_000_000_000n)
    console.log(
      `${setting.dataAvailability.padEnd(9)} ${setting.batchType.padEnd(9)} ${setting.compressionAlgorithm.padEnd(10)} ` +
        `${`${theirs.bytes} in ${theirs.transactions}, ${ours.bytes} in ${ours.transactions}`.padEnd(27)} ${bytesShare.toFixed(4)} ` +
        `${`${gwei(theirs)}, ${gwei(ours)}`.padStart(24)}  ${costShare.toFixed(4)}  ${isMet ? 'met' : 'NOT MET'}`,
    )
  }
  return areMet
}

async function post(
  { recorded }: BenchChain,
  setting: Setting,
  start: (args: string[]) => ChildProcess,
): Promise<Posted> {
  const opened = new AsyncDisposableStack()
  try {
    const anvil = await startAnvil({ hardfork: 'prague', args: ['--chain-id', String(recorded.config.l1ChainId)] })
    opened.defer(() => anvil.stop())
    const l1 = createRpcClient({ url: anvil.url, timeoutMs: 60_000 })
    opened.defer(() => l1.close())
    // A channel's age counts in L1 blocks from the origin of its blocks. These L1 blocks close the last channel.
    await l1.request('anvil_mine', ['0x28'])
    const { address } = createLocalSigner({ privateKey: BATCHER_KEY })
    const node = new SequencerNode(recorded, l1, address)
    const last = recorded.blocks.length - 1
    node.unsafe = last
    await node.start()
    opened.defer(() => node.stop())
    const program = start([
      `--l1-eth-rpc=${anvil.url}`,
      `--l2-eth-rpc=${node.url}`,
      `--rollup-rpc=${node.url}`,
      `--private-key=${BATCHER_KEY}`,
      `--batch-type=${setting.batchType === 'span' ? 1 : 0}`,
      `--compression-algo=${setting.compressionAlgorithm}`,
      `--data-availability-type=${setting.dataAvailability}`,
      '--max-channel-duration=1',
      '--sub-safety-margin=4',
      '--poll-interval=1s',
      '--num-confirmations=1',
      '--txmgr.receipt-query-interval=100ms',
      '--throttle.unsafe-da-bytes-lower-threshold=0',
      `--rpc.port=${await claimPort()}`,
    ])
    const exited = new Promise((resolve) => program.once('exit', resolve))
    opened.defer(async () => {
      program.kill('SIGKILL')
      await exited
    })
    const giveUpAtMs = performance.now() + POSTED_WITHIN_MS
    while ((await node.safeNumber()) < last) {
      if (performance.now() > giveUpAtMs || program.exitCode !== null)
        throw new Error(`not all blocks were posted: ${JSON.stringify(setting)}`)
      await delay(500)
    }
    return await readPosted(l1, address, recorded.config.batchInboxAddress)
  } finally {
    await opened.disposeAsync()
  }
}

async function readPosted(l1: RpcClient, sender: string, inbox: string): Promise<Posted> {
  const posted: Posted = { transactions: 0, bytes: 0, costWei: 0n }
  const head = quantityToNumber(await l1.request('eth_blockNumber', []))
  for (let number = 0; number <= head; number++) {
    const { transactions } = (await l1.request('eth_getBlockByNumber', [toQuantity(number), true])) as {
      transactions: { hash: string; from: string; to: string | null; input: string; blobVersionedHashes?: string[] }[]
    }
    for (const tx of transactions) {
      if (tx.from.toLowerCase() !== sender || tx.to?.toLowerCase() !== inbox) continue
      const receipt = (await l1.request('eth_getTransactionReceipt', [tx.hash])) as Record<string, string>
      const blobs = tx.blobVersionedHashes ?? []
      const gas = quantityToBigInt(receipt.gasUsed) + (blobs.length === 0 ? 0n : quantityToBigInt(receipt.blobGasUsed))
      posted.transactions++
      posted.bytes += blobs.length * BLOB_BYTES + fromHex(tx.input).length
      posted.costWei += gas * GAS_PRICE_WEI
    }
  }
  return posted
}
