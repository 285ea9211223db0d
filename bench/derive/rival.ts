import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startExecutionNode } from '../../src/execution/testUtils/executionNode.ts'
import { loadRecordedRpc } from '../../src/execution/testUtils/recordedRpc.ts'
import { DEV_KEYS, signTransaction } from '../../src/execution/testUtils/signTransaction.ts'
import { createL1Client } from '../../src/l1/index.ts'
import { systemClock } from '../../src/lib/clock.ts'
import { type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import { createRpcClient, type RpcClient } from '../../src/lib/jsonRpc/client.ts'
import { loadJwtSecret } from '../../src/lib/jwt.ts'
import { silentLogger } from '../../src/lib/logger.ts'
import { encodeRlp } from '../../src/lib/rlp.ts'
import { startTcpProxy } from '../../src/p2p/testUtils/tcpProxy.ts'
import { createAttributesBuilder } from '../../src/rollup/derive/index.ts'
import { createEngineClient } from '../../src/rollup/engine/index.ts'
import {
  compressChannel,
  encodeSpanBatch,
  isDepositTx,
  parseRollupConfig,
  payloadToL2BlockRef,
  rollupConfigToJson,
  type SpanBatchBlock,
  systemConfigFromPayload,
} from '../../src/rollup/protocol/index.ts'
import type { L2BlockRef, PayloadAttributes, PayloadEnvelope, RollupConfig } from '../../src/rollup/protocol/types.ts'
import { l1ChainConfig } from '../../testnet/l1/chainConfig.ts'
import { inFrames } from './madeChain.ts'
import { asker, freePort, until, withOpGeth } from './opGeth.ts'

// Beside op-node: both derive one chain from the same Anvil, each on an op-geth of its own, one after the other.

const L1_BLOCK_TIME_S = 12
const L2_BLOCK_TIME_S = 2
const L2_BLOCKS = 1_200
const BLOCKS_PER_SPAN = 120
const TRANSFERS_PER_BLOCK = 3
const L1_CHAIN_ID = 900

export interface RivalOptions {
  opGeth: string
  opNode: string
  /** What L1's answers take longer; 0 = nothing. */
  l1LatencyMs: number
}

interface MadeChain {
  genesis: unknown
  config: RollupConfig
  last: L2BlockRef
  /** Of all blocks, in their order. */
  attributes: PayloadAttributes[]
}

/**
 * Seconds from the start of the process until all is safe, for both, and what op-geth takes by itself for the calls of the Engine API that
 * make these blocks, one after the other: nobody who has it execute them is faster.
 */
export async function besideOpNode({ opGeth, opNode, l1LatencyMs }: RivalOptions): Promise<void> {
  const startedAt = Math.floor(Date.now() / 1000) - (L2_BLOCKS * L2_BLOCK_TIME_S + 400)
  const anvil = await startAnvilAt(startedAt)
  const directory = mkdtempSync(join(tmpdir(), 'devium-rival-'))
  try {
    const chain = await makeChain(anvil, startedAt)
    writeFileSync(join(directory, 'genesis.json'), JSON.stringify(chain.genesis))
    writeFileSync(join(directory, 'rollup.json'), JSON.stringify(rollupConfigToJson(chain.config)))
    writeFileSync(join(directory, 'l1.json'), JSON.stringify(l1ChainConfig(L1_CHAIN_ID)))
    const near = anvil.url
    const rounds: [string, string][] = [['near', near]]
    const proxy = l1LatencyMs > 0 ? await startTcpProxy(Number(new URL(near).port)) : undefined
    if (proxy !== undefined) {
      proxy.set({ delayMs: l1LatencyMs / 2 })
      rounds.push([`${l1LatencyMs} ms away`, `http://127.0.0.1:${proxy.port}`])
    }
    const alone = await timeAlone(chain, { directory, opGeth })
    console.log(`     ${chain.last.number} blocks on op-geth: the calls alone ${alone.toFixed(2)} s`)
    for (const [where, l1] of rounds) {
      const ours = await timeOf(chain, { directory, opGeth, l1, node: 'ours', binary: process.execPath })
      const theirs = await timeOf(chain, { directory, opGeth, l1, node: 'op-node', binary: opNode })
      const ratio = theirs / ours
      console.log(
        `     ${chain.last.number} blocks on op-geth, L1 ${where}: ours ${ours.toFixed(2)} s, op-node ${theirs.toFixed(2)} s, ` +
          `${ratio.toFixed(2)} times as fast`,
      )
    }
    await proxy?.close()
  } finally {
    rmSync(directory, { recursive: true, force: true })
    await anvil.stop()
  }
}

async function startAnvilAt(timestamp: number) {
  const { startAnvil } = await import('../../test/support/anvil.ts')
  const args = ['--no-mining', '--timestamp', String(timestamp), '--chain-id', String(L1_CHAIN_ID)]
  return startAnvil({ hardfork: 'cancun', args })
}

/** L1 blocks with span batches, and the L2 blocks that they hold. */
async function makeChain(anvil: { url: string }, startedAt: number): Promise<MadeChain> {
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
      // Those of the recorded genesis; op-node of 2026 asks for them.
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
}: Sequencing): Promise<Pick<MadeChain, 'last' | 'attributes'>> {
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
      const job = await execution.chain.startBuild({ parentHash: parent.hash, attributes, version: 3 })
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
  // Some more, so that the last batches are no news of this moment.
  for (let more = 0; more < 3; more++) await rpc.request('evm_mine', [])
  return { last: parent, attributes: all }
}

async function post(rpc: RpcClient, { genesis, batchInboxAddress }: RollupConfig, data: Uint8Array): Promise<void> {
  const transaction = { from: genesis.systemConfig.batcherAddress, to: batchInboxAddress, data: toHex(data) }
  await rpc.request('eth_sendTransaction', [{ ...transaction, gas: toQuantity(8_000_000) }])
}

interface Run {
  directory: string
  opGeth: string
  l1: string
  node: 'ours' | 'op-node'
  binary: string
}

function timeOf({ last }: MadeChain, { directory, opGeth, l1, node, binary }: Run): Promise<number> {
  return withOpGeth(opGeth, directory, async ({ engineUrl, jwtPath, start }) => {
    const rpcPort = await freePort()
    const flags = [
      `--l1=${l1}`,
      '--l1.beacon.ignore',
      '--l1.trustrpc',
      '--l1.http-poll-interval=300ms',
      `--l2=${engineUrl}`,
      `--l2.jwt-secret=${jwtPath}`,
      `--rollup.config=${join(directory, 'rollup.json')}`,
      `--rollup.l1-chain-config=${join(directory, 'l1.json')}`,
      '--rpc.addr=127.0.0.1',
      `--rpc.port=${rpcPort}`,
      '--p2p.disable',
      '--log.level=error',
    ]
    const ours = fileURLToPath(new URL('../../bin/devium--batcher.mjs', import.meta.url))
    const child = start(binary, node === 'ours' ? [ours, ...flags] : flags)
    const startedMs = performance.now()
    const syncStatus = asker(`http://127.0.0.1:${rpcPort}`, 'optimism_syncStatus')
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${node} ended with code ${child.exitCode}`)
      const status = await syncStatus.ask()
      const safe = isSyncStatus(status) ? status.safe_l2 : undefined
      if (safe?.number !== last.number) return false
      if (safe.hash !== last.hash) throw new Error(`${node} came to another block ${last.number}`)
      return true
    })
    const seconds = (performance.now() - startedMs) / 1000
    await syncStatus.close()
    return seconds
  })
}

/** The blocks made by nothing but the calls that make them. */
function timeAlone({ config, last, attributes }: MadeChain, { directory, opGeth }: Pick<Run, 'directory' | 'opGeth'>) {
  return withOpGeth(opGeth, directory, async ({ engineUrl, jwtPath }) => {
    const rpc = createRpcClient({ url: engineUrl, jwtSecret: loadJwtSecret(jwtPath, { create: false }) })
    const engine = createEngineClient({ rpc }, config)
    const finalizedBlockHash = config.genesis.l2.hash
    const stateAt = (hash: Hex) => ({ headBlockHash: hash, safeBlockHash: hash, finalizedBlockHash })
    const startedMs = performance.now()
    let head = finalizedBlockHash
    for (const next of attributes) {
      const { payloadId = '0x' } = await engine.forkchoiceUpdated(stateAt(head), next)
      const envelope = await engine.getPayload(payloadId, next.timestamp)
      await engine.newPayload(envelope)
      head = envelope.payload.blockHash
    }
    await engine.forkchoiceUpdated(stateAt(head))
    const seconds = (performance.now() - startedMs) / 1000
    await rpc.close()
    if (head !== last.hash) throw new Error(`op-geth made another block ${last.number}`)
    return seconds
  })
}

function isSyncStatus(value: unknown): value is { safe_l2: { number: number; hash: string } } {
  return typeof value === 'object' && value !== null && 'safe_l2' in value
}
