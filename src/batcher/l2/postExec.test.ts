import { describe, expect, it } from 'vitest'
import { createRpcApp, serveApp } from '../../jsonRpc/httpServer.ts'
import { createRpcDispatcher } from '../../jsonRpc/server.ts'
import { createPatientClient } from '../../jsonRpc/testUtils/patientClient.ts'
import { keccak256Hex } from '../../lib/hash.ts'
import { quantityToNumber, toHex } from '../../lib/hex.ts'
import { encodePostExecTx } from '../../rollup/protocol/index.ts'
import { addAll, createManager, derive, essence, takeAll } from '../testUtils/managerInTest.ts'
import { loadRecordedChain } from '../testUtils/recordedChain.ts'
import type { BatcherBlock } from './l2Block.ts'
import { createL2Source } from './l2Source.ts'

const recorded = loadRecordedChain('holocene-span-brotli-calldata')

/** The recorded blocks as JSON-RPC answers. Each ends with a post-exec transaction of this many refunds. */
function blocksWith(refundCount: number) {
  return recorded.blocks.map((block, blockNumber) => {
    const refunds = Array.from({ length: refundCount }, (_, index) => ({
      index: index + 1,
      // Hard to compress.
      gasRefund: BigInt((7919 * (index + 1) * (blockNumber + 1)) % 1_000_003),
    }))
    const raw = encodePostExecTx({ version: 1, blockNumber, refunds })
    const postExec = {
      type: '0x7d',
      hash: keccak256Hex(raw),
      from: `0x${'00'.repeat(20)}`,
      gas: '0x0',
      value: '0x0',
      input: toHex(raw.subarray(1)),
    }
    return { raw, json: { ...block, transactions: [...block.transactions, postExec] } }
  })
}

/** The blocks that the submitter loads. */
async function load(blocks: ReturnType<typeof blocksWith>): Promise<BatcherBlock[]> {
  const methods = new Map([
    ['eth_getBlockByNumber', ([number]: readonly unknown[]) => blocks[quantityToNumber(number)]?.json ?? null],
  ])
  const dispatcher = createRpcDispatcher({ methods, maxBatchSize: 100 })
  const server = await serveApp(createRpcApp({ dispatcher }), '127.0.0.1', 0, 'test')
  const client = createPatientClient({ url: server.url })
  try {
    const loaded: BatcherBlock[] = []
    for await (const some of createL2Source(client, 20_000).blocks(1, blocks.length - 1)) loaded.push(...some)
    return loaded
  } finally {
    await client.close()
    await server.close()
  }
}

describe.each(['singular', 'span'] as const)('post-exec transactions in %s batches', (batchType) => {
  it('are loaded and derived again as the last transactions of their block', async () => {
    const blocks = blocksWith(3)
    const loaded = await load(blocks)
    expect(loaded.map(({ transactions }) => toHex(transactions.at(-1) ?? new Uint8Array(0)))).toEqual(
      blocks.slice(1).map(({ raw }) => toHex(raw)),
    )
    const manager = createManager({ batchType, maxL1TxSizeBytes: 2_000 })
    addAll(manager, loaded)
    expect(await derive(await takeAll(manager))).toEqual(loaded.map(essence))
  })

  it('count for the size of channels', async () => {
    const channels = async (refundCount: number) => {
      const manager = createManager({ batchType, maxL1TxSizeBytes: 20_000, compressor: 'none' })
      addAll(manager, await load(blocksWith(refundCount)))
      await takeAll(manager)
      return manager.channels
    }
    const few = await channels(1)
    const many = await channels(400)
    expect(many.length).toBeGreaterThan(few.length)
  })
})
