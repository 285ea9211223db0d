import type { RequestOptions, RpcClient } from '../../src/jsonRpc/client.ts'
import { fromHex, type Hex, toHex } from '../../src/lib/hex.ts'
import type { BlockId } from '../../src/rollup/protocol/index.ts'
import { type AbiItem, encodeCall, functionSelector } from '../contracts/abi.ts'

/** L2OutputOracle.proposeL2Output. */
const PROPOSE: AbiItem = {
  type: 'function',
  name: 'proposeL2Output',
  inputs: ['bytes32', 'uint256', 'bytes32', 'uint256'].map((type) => ({ type })),
}

/** The L2 block of the contract's next output, and the interval to the output after it. */
export interface NextOutput {
  number: number
  interval: number
}

export async function readNextOutput(l1: RpcClient, oracle: Hex, options: RequestOptions): Promise<NextOutput> {
  const read = async (signature: string) => {
    const call = { to: oracle, data: toHex(functionSelector(signature)) }
    return Number(await l1.request('eth_call', [call, 'latest'], options))
  }
  const [number, interval] = await Promise.all([read('nextBlockNumber()'), read('SUBMISSION_INTERVAL()')])
  return { number, interval }
}

/** Call data of a proposal. The contract accepts it only on the L1 chain that has `l1Block`. */
export function encodeProposal(output: { number: number; outputRoot: Hex }, l1Block: BlockId): Uint8Array {
  const { number, outputRoot } = output
  return encodeCall([PROPOSE], 'proposeL2Output', [
    fromHex(outputRoot, 32),
    number,
    fromHex(l1Block.hash, 32),
    l1Block.number,
  ])
}
