import { type BatcherBlock, batcherBlockFromJson } from '../../src/batcher/l2/l2Block.ts'
import {
  loadRecordedChain,
  type RecordedBlock,
  type RecordedChain,
  type RecordedChainName,
} from '../../src/batcher/testUtils/recordedChain.ts'
import { keccak256Hex } from '../../src/lib/hash.ts'
import { type Hex, toHex, toQuantity } from '../../src/lib/hex.ts'
import { decodeRlp, rlpBigInt, rlpBytes, rlpList } from '../../src/lib/rlp.ts'
import { blockHeaderFromJson, blockHeaderHash } from '../../src/rollup/protocol/index.ts'
import { madeTransaction } from '../derive/madeChain.ts'

/** Recorded chains by name, and a generated chain that is long enough for many channels. */
export interface BenchChain {
  name: string
  recorded: RecordedChain
}

const RECORDED: readonly RecordedChainName[] = [
  'granite-singular-zlib-calldata',
  'holocene-span-brotli-calldata',
  '2026-holocene-isthmus-jovian-calldata',
]
const MADE_FROM: RecordedChainName = 'holocene-span-brotli-calldata'

export const recordedChains = (): BenchChain[] =>
  RECORDED.map((name) => ({ name: `recorded: ${name}`, recorded: loadRecordedChain(name) }))

/**
 * Blocks of 0 to 12 transactions with fees, contracts and words like those of public chains. Headers match their hashes and link
 * to their parents, because clients check both.
 */
export function madeChain(length: number): BenchChain {
  const recorded = loadRecordedChain(MADE_FROM)
  const [genesis, first] = recorded.blocks
  if (genesis === undefined || first === undefined) throw new RangeError('the recorded chain has no blocks')
  const chainId = Number(recorded.config.l2ChainId)
  const blocks = [genesis]
  for (let number = 1; number <= length; number++) {
    const transactions = Array.from({ length: (number * 7) % 13 }, () => transactionJson(madeTransaction(chainId)))
    const parentHash = blocks[number - 1]?.hash ?? ''
    blocks.push(blockOn(first, { number, parentHash, config: recorded.config }, transactions))
  }
  return { name: `made, ${length} blocks`, recorded: { ...recorded, blocks } }
}

export const blocksOf = ({ recorded }: BenchChain): Promise<BatcherBlock[]> =>
  Promise.all(recorded.blocks.slice(1).map(batcherBlockFromJson))

function blockOn(
  template: RecordedBlock,
  { number, parentHash, config }: { number: number; parentHash: string } & Pick<RecordedChain, 'config'>,
  transactions: Record<string, unknown>[],
): RecordedBlock {
  const deposit = template.transactions[0] ?? {}
  const block = {
    ...template,
    number: toQuantity(number),
    parentHash,
    timestamp: toQuantity(config.genesis.l2Time + number * config.blockTime),
    transactions: [deposit, ...transactions],
  }
  return { ...block, hash: blockHeaderHash(blockHeaderFromJson(block)) }
}

/** An EIP-1559 transaction in JSON-RPC form. */
export function transactionJson(encoded: Uint8Array): Record<string, unknown> {
  const fields = rlpList(decodeRlp(encoded.subarray(1)), 'transaction')
  const quantity = (index: number): Hex => toQuantity(rlpBigInt(fields[index], 'field'))
  const bytes = (index: number): Hex => toHex(rlpBytes(fields[index], 'field'))
  return {
    type: '0x2',
    hash: keccak256Hex(encoded),
    chainId: quantity(0),
    nonce: quantity(1),
    maxPriorityFeePerGas: quantity(2),
    maxFeePerGas: quantity(3),
    gas: quantity(4),
    to: bytes(5),
    value: quantity(6),
    input: bytes(7),
    accessList: [],
    v: quantity(9),
    yParity: quantity(9),
    r: quantity(10),
    s: quantity(11),
  }
}
