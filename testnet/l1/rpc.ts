import type { RequestOptions, RpcClient } from '../../src/jsonRpc/client.ts'
import type { Hex } from '../../src/lib/hex.ts'
import { JsonObjectReader } from '../../src/rollup/protocol/index.ts'

export interface L1Block {
  number: number
  hash: Hex
  timestamp: number
  baseFeeWei: bigint
}

/** A block of L1, by default its head. */
export async function readL1Block(
  l1: RpcClient,
  tag: 'latest' | 'finalized' | Hex = 'latest',
  options?: RequestOptions,
): Promise<L1Block> {
  const block = new JsonObjectReader(await l1.request('eth_getBlockByNumber', [tag, false], options), 'L1 block')
  return {
    number: block.quantityNumber('number'),
    hash: block.hex('hash', 32),
    timestamp: block.quantityNumber('timestamp'),
    baseFeeWei: block.quantity('baseFeePerGas'),
  }
}
