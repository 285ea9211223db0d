import { DeviumError } from '../lib/errors.ts'
import { quantityToBigInt, quantityToNumber, toQuantity } from '../lib/hex.ts'
import type { RpcClient } from '../lib/jsonRpc/client.ts'
import { type BatcherBlock, batcherBlockFromJson } from './l2Block.ts'

/** The L2 execution client whose blocks are submitted. */
export interface L2Source {
  chainId(signal?: AbortSignal): Promise<bigint>
  /** Number of the newest block. */
  headNumber(signal?: AbortSignal): Promise<number>
  /** Throws DeviumError (`l2-block-missing`) when there is no block of this number. */
  blockByNumber(number: number, signal?: AbortSignal): Promise<BatcherBlock>
}

export function createL2Source(rpc: Pick<RpcClient, 'request'>, timeoutMs: number): L2Source {
  return {
    chainId: async (signal) =>
      quantityToBigInt(await rpc.request('eth_chainId', [], { signal, timeoutMs }), 'eth_chainId'),
    headNumber: async (signal) =>
      quantityToNumber(await rpc.request('eth_blockNumber', [], { signal, timeoutMs }), 'eth_blockNumber'),
    async blockByNumber(number, signal) {
      const json = await rpc.request('eth_getBlockByNumber', [toQuantity(number), true], { signal, timeoutMs })
      if (json === null)
        throw new DeviumError('l2-block-missing', `L2 block ${number} not found`, { severity: 'temporary' })
      return batcherBlockFromJson(json)
    },
  }
}
