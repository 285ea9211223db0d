import { isBatchRefusal, type RequestOptions, type RpcClient } from '../../jsonRpc/client.ts'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { DeviumError } from '../../lib/errors.ts'
import { quantityToBigInt, quantityToNumber, toQuantity } from '../../lib/hex.ts'
import { yieldToLoop } from '../../lib/yieldToLoop.ts'
import { type BatcherBlock, batcherBlockFromJson, memoryBytes } from './l2Block.ts'

/** The L2 execution client whose blocks are submitted. */
export interface L2Source {
  chainId(signal?: AbortSignal): Promise<bigint>
  headNumber(signal?: AbortSignal): Promise<number>
  /**
   * Yields the blocks `start` to `end` in groups limited by memory. The next group is requested while the caller works.
   * Throws DeviumError (`l2-block-missing`) if a block does not exist.
   */
  blocks(start: number, end: number, signal?: AbortSignal): AsyncGenerator<BatcherBlock[], void, undefined>
}

/** Most blocks in one batch request. Execution clients limit batches. */
const MAX_BATCH_BLOCKS = 100
/** Most concurrent single requests to a node that refuses batches. */
const MAX_SINGLE_REQUESTS = 8
/** Memory of the blocks of one request. Their JSON is about four times as long. */
const BATCH_BYTES = 256 * 1024

type BlocksRpc = Pick<RpcClient, 'request' | 'batch'>

export function createL2Source(rpc: BlocksRpc, timeoutMs: number): L2Source {
  let takesBatches = true

  const callsOf = (start: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({
      method: 'eth_getBlockByNumber',
      params: [toQuantity(start + index), true],
    }))
  const singly = async (start: number, count: number, options: RequestOptions) => {
    const answers = callsOf(start, Math.min(count, MAX_SINGLE_REQUESTS)).map(({ method, params }) =>
      rpc.request(method, params, options),
    )
    return readBlocks(await Promise.all(answers), start)
  }
  /**
   * Resolves with at least the first block. A node may answer only the first calls of a batch, if the whole answer
   * would be too long.
   */
  const blocksFrom = async (start: number, count: number, signal?: AbortSignal): Promise<BatcherBlock[]> => {
    const options = { signal, timeoutMs }
    if (count === 1 || !takesBatches) return singly(start, count, options)
    const answers = await rpc.batch(callsOf(start, count), options).catch((error: unknown) => {
      if (!isBatchRefusal(error)) throw error
      takesBatches = false
      return []
    })
    const refused = answers.findIndex((answer) => answer instanceof JsonRpcError)
    const given = answers.slice(0, refused === -1 ? count : refused)
    return given.length === 0 ? singly(start, 1, options) : readBlocks(given, start)
  }

  return {
    chainId: async (signal) =>
      quantityToBigInt(await rpc.request('eth_chainId', [], { signal, timeoutMs }), 'eth_chainId'),
    headNumber: async (signal) =>
      quantityToNumber(await rpc.request('eth_blockNumber', [], { signal, timeoutMs }), 'eth_blockNumber'),
    async *blocks(start, end, signal) {
      let count = 1
      let pending = blocksFrom(start, 1, signal)
      for (let next = start; next <= end; ) {
        const blocks = await pending
        next += blocks.length
        const bytes = blocks.reduce((sum, block) => sum + memoryBytes(block), 0) / blocks.length
        // The count grows step by step, because later blocks may be larger.
        count = Math.max(1, Math.min(MAX_BATCH_BLOCKS, 4 * count, Math.floor(BATCH_BYTES / bytes), end + 1 - next))
        if (next <= end) {
          pending = blocksFrom(next, count, signal)
          // Prevents an unhandled rejection: the request may fail before it is awaited, or the caller may stop.
          pending.catch(() => {})
        }
        yield blocks
      }
    },
  }
}

async function readBlocks(answers: readonly unknown[], start: number): Promise<BatcherBlock[]> {
  const blocks: BatcherBlock[] = []
  for (const [index, json] of answers.entries()) {
    if (json === null)
      throw new DeviumError('l2-block-missing', `L2 block ${start + index} not found`, { severity: 'temporary' })
    blocks.push(await batcherBlockFromJson(json))
    await yieldToLoop()
  }
  return blocks
}
