import { startExecutionNode } from '../../src/execution/testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import { createRpcClient, type RpcClient } from '../../src/jsonRpc/client.ts'
import { createL1Client } from '../../src/l1/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { toHex, toQuantity } from '../../src/lib/hex.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { createAttributesBuilder } from '../../src/rollup/derive/index.ts'
import {
  compressChannel,
  encodeSpanBatch,
  isDepositTx,
  parseRollupConfig,
  payloadToL2BlockRef,
  type SpanBatchBlock,
  systemConfigFromPayload,
} from '../../src/rollup/protocol/index.ts'
import type { L2BlockRef, PayloadAttributes, PayloadEnvelope, RollupConfig } from '../../src/rollup/protocol/types.ts'
import { type Anvil, startAnvil } from '../../test/support/anvil.ts'
import { inFrames } from './madeChain.ts'

// The chain that both rollup nodes derive from one Anvil.

const L1_BLOCK_TIME_S = 12
const L2_BLOCK_TIME_S = 2
const L2_BLOCKS = 1_200
const BLOCKS_PER_SPAN = 120
const TRANSFERS_PER_BLOCK = 3
export const L1_CHAIN_ID = 900

export interface RivalChain {
  genesis: unknown
  config: RollupConfig
  last: L2BlockRef
  /** Attributes of all blocks, in order. */
  attributes: PayloadAttributes[]
}

/** L1 blocks with span batches up to now, and the L2 blocks in them. The caller stops Anvil. */
export async function makeRivalChain(): Promise<{ anvil: Anvil; chain: RivalChain }> {
  const startedAt = Math.floor(Date.now() / 1000) - (L2_BLOCKS * L2_BLOCK_TIME_S + 400)
  const args = ['--no-mining', '--timestamp', String(startedAt), '--chain-id', String(L1_CHAIN_ID)]
  const anvil = await startAnvil({ hardfork: 'cancun', args })
  try {
    return { anvil, chain: await makeChain(anvil, startedAt) }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}

async function makeChain(anvil: Anvil, startedAt: number): Promise<RivalChain> {
  const recorded = loadRecordedRpc('holocene-span-brotli-calldata')
  const genesis = { ...recorded.genesis, timestamp: toQuantity(startedAt) }
  const execution = await startExecutionNode(genesis)
  const rpc = createRpcClient({ url: anvil.url })
  try {
    const l1 = createL1Client({ rpc, logger: silentLogger, clock: systemClock })
    const base = parseRollupConfig(recorded.rollup)
    const l1Genesis = await l1.blockInfoByNumber(0)
    const { chain } = execution
    if (l1Genesis === undefined) throw new Error('Anvil has no genesis block')
    const l2Genesis = { hash: chain.head().hash, number: 0 }
    const config: RollupConfig = {
      ...base,
      // The recorded genesis's values, which op-node of 2026 requires.
      chainOpConfig: { eip1559Elasticity: 6, eip1559Denominator: 50, eip1559DenominatorCanyon: 250 },
      genesis: { ...base.genesis, l1: { hash: l1Genesis.hash, number: 0 }, l2: l2Genesis, l2Time: startedAt },
    }
    const head: L2BlockRef = {
      ...l2Genesis,
      parentHash: chain.head().parentHash,
      timestamp: startedAt,
      l1Origin: config.genesis.l1,
      sequenceNumber: 0,
    }
    const made = await sequence({ rpc, l1, execution, config, head })
    return { genesis, config, ...made }
  } finally {
    await rpc.close()
    await execution.close()
  }
}

interface Sequencing {
  rpc: RpcClient
  l1: ReturnType<typeof createL1Client>
  execution: Awaited<ReturnType<typeof startExecutionNode>>
  config: RollupConfig
  head: L2BlockRef
}

async function sequence({
  rpc,
  l1,
  execution,
  config,
  head,
}: Sequencing): Promise<Pick<RivalChain, 'last' | 'attributes'>> {
  const all: PayloadAttributes[] = []
  const built = new Map<string, PayloadEnvelope>()
  const builder = createAttributesBuilder(
    {
      l1,
      l2: {
        async systemConfigByL2Hash(hash) {
          const envelope = built.get(hash)
          return envelope === undefined
            ? config.genesis.systemConfig
            : systemConfigFromPayload(envelope.payload, config)
        },
      },
    },
    config,
  )
  let parent = head
  let waiting: SpanBatchBlock[] = []
  let nonce = 0
  for (let l1Number = 0; parent.number < L2_BLOCKS || waiting.length > 0; ) {
    const full = waiting.length >= BLOCKS_PER_SPAN || parent.number >= L2_BLOCKS
    if (full) {
      const channel = compressChannel(encodeRlp(encodeSpanBatch(waiting, config)), 'brotli-9')
      for (const data of inFrames(channel)) await post(rpc, config, data)
      waiting = []
    }
    await rpc.request('evm_setNextBlockTimestamp', [config.genesis.l2Time + (l1Number + 1) * L1_BLOCK_TIME_S])
    await rpc.request('evm_mine', [])
    l1Number++
    const origin = await l1.blockInfoByNumber(l1Number)
    if (origin === undefined) throw new Error(`Anvil has no block ${l1Number}`)
    while (parent.number < L2_BLOCKS && parent.timestamp + L2_BLOCK_TIME_S < origin.timestamp + L1_BLOCK_TIME_S) {
      const epoch = parent.timestamp + L2_BLOCK_TIME_S >= origin.timestamp ? origin : parent.l1Origin
      const attributes = await builder.prepare(parent, epoch)
      const [key] = DEV_KEYS
      for (let i = 0; i < TRANSFERS_PER_BLOCK; i++) {
        attributes.transactions.push(signTransaction(key, { chainId: config.l2ChainId, nonce: nonce++, value: 1n }).raw)
      }
      all.push(attributes)
      const job = await execution.chain.startBuild({ parentHash: parent.hash, attributes })
      const { envelope } = await job.seal()
      const status = await execution.chain.importPayload(envelope)
      if (status.status !== 'VALID') throw new Error(`block ${parent.number + 1} is ${status.status}`)
      built.set(envelope.payload.blockHash, envelope)
      parent = payloadToL2BlockRef(envelope.payload, config)
      waiting.push({
        parentHash: parent.parentHash,
        timestamp: parent.timestamp,
        epochNumber: parent.l1Origin.number,
        epochHash: parent.l1Origin.hash,
        sequenceNumber: parent.sequenceNumber,
        transactions: envelope.payload.transactions.filter((transaction) => !isDepositTx(transaction)),
      })
    }
  }
  // More L1 blocks, so that the last batches are not in the newest block.
  for (let more = 0; more < 3; more++) await rpc.request('evm_mine', [])
  return { last: parent, attributes: all }
}

async function post(rpc: RpcClient, { genesis, batchInboxAddress }: RollupConfig, data: Uint8Array): Promise<void> {
  const transaction = { from: genesis.systemConfig.batcherAddress, to: batchInboxAddress, data: toHex(data) }
  await rpc.request('eth_sendTransaction', [{ ...transaction, gas: toQuantity(8_000_000) }])
}
