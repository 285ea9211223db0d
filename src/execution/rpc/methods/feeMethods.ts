import type { JsonValue } from '../../../jsonRpc/types.ts'
import { toQuantity } from '../../../lib/hex.ts'
import { yieldToLoop } from '../../../lib/yieldToLoop.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import { type Block, type BlockHeader, isSigned, type Receipt } from '../../primitives/block.ts'
import { effectiveTip } from '../../tx/effectiveTip.ts'
import { findLabelledHeader } from '../blockLookup.ts'
import type { MethodTable } from '../context.ts'
import { serverError } from '../errors.ts'
import type { RpcOptions } from '../options.ts'
import { type BlockSelector, blockNumber, method, type Param, readArray, readHexOrDecimal } from '../params.ts'

/** geth's limits of eth_feeHistory. */
const MAX_HISTORY_BLOCKS = 1024
const MAX_PERCENTILES = 100

type Options = Pick<RpcOptions, 'minSuggestedTipWei' | 'maxSuggestedTipWei'>

const blockCount: Param<number> = { parse: (value) => readHexOrDecimal(value, 'block count') }
const percentiles: Param<number[]> = { parse: readPercentiles, fallback: () => [] }

/** eth_gasPrice and similar methods. */
export function createFeeMethods(chain: ReadableChain, options: Options): MethodTable {
  const suggestion = createTipOracle(chain, options)
  return {
    eth_gasPrice: method([], async () => toQuantity((await suggestion()) + chain.head().baseFeePerGas)),
    eth_maxPriorityFeePerGas: method([], async () => toQuantity(await suggestion())),
    // Without blobs the blob gas price stays at its minimum.
    eth_blobBaseFee: method([], () => '0x1'),
    eth_feeHistory: method([blockCount, blockNumber, percentiles], async ([count, selector, wanted], { signal }) => {
      checkPercentiles(wanted)
      const newest = await newestHeader(chain, selector)
      return feeHistory(chain, Math.min(count, MAX_HISTORY_BLOCKS, newest.number + 1), newest, wanted, signal)
    }),
  }
}

/**
 * op-geth's suggested priority fee (`eth/gasprice/optimism-gasprice.go`): the minimum. If the last block had no space
 * for one more of its largest transactions: a tenth above the block's median.
 */
function createTipOracle(
  chain: ReadableChain,
  { minSuggestedTipWei, maxSuggestedTipWei }: Options,
): () => Promise<bigint> {
  let cached: { hash: string; tip: bigint } | undefined
  const clamp = (tip: bigint) => (tip > maxSuggestedTipWei && maxSuggestedTipWei > 0n ? maxSuggestedTipWei : tip)
  const compute = async (header: BlockHeader): Promise<bigint> => {
    let tip = minSuggestedTipWei
    // No transaction used more gas than the block.
    if (header.gasUsed * 2n <= header.gasLimit) return clamp(tip)
    const receipts = (await chain.receipts(header.hash)) ?? []
    const largest = receipts.reduce((most, { gasUsed }) => bigMax(most, gasUsed), 0n)
    if (header.gasUsed + largest > header.gasLimit) {
      const block = await chain.blockByHash(header.hash)
      const tips = tipsOf(block, header.baseFeePerGas)
      const median = tips[Math.floor(tips.length / 2)]
      if (median !== undefined) tip = bigMax(tip, (median * 11n) / 10n)
    }
    return clamp(tip)
  }
  return async () => {
    const header = chain.head()
    if (cached?.hash !== header.hash) cached = { hash: header.hash, tip: await compute(header) }
    return cached.tip
  }
}

async function newestHeader(chain: ReadableChain, selector: BlockSelector): Promise<BlockHeader> {
  const header = await findLabelledHeader(chain, selector)
  if (header !== undefined) return header
  const requested = selector.kind === 'number' ? selector.number : 0
  throw serverError(`request beyond head block: requested ${requested}, head ${chain.head().number}`)
}

function tipsOf(block: Block | undefined, baseFee: bigint): bigint[] {
  const tips = (block?.transactions ?? []).flatMap((tx) => (isSigned(tx) ? [effectiveTip(tx, baseFee)] : []))
  return tips.sort(compareBigints)
}

async function feeHistory(
  chain: ReadableChain,
  count: number,
  newest: BlockHeader,
  wanted: number[],
  signal: AbortSignal,
): Promise<object> {
  if (count < 1) return { oldestBlock: '0x0', gasUsedRatio: null }
  const oldest = newest.number - count + 1
  const baseFees: string[] = []
  const gasUsedRatio: number[] = []
  const reward: string[][] = []
  for (let number = oldest; number <= newest.number; number++) {
    await yieldToLoop('answer')
    signal.throwIfAborted()
    const header = await chain.headerByNumber(number)
    if (header === undefined) throw serverError('header not found')
    baseFees.push(toQuantity(header.baseFeePerGas))
    gasUsedRatio.push(Number(header.gasUsed) / Number(header.gasLimit))
    if (wanted.length === 0) continue
    const block = await chain.blockByHash(header.hash)
    if (block === undefined) throw serverError('header not found')
    reward.push(rewards(block, (await chain.receipts(header.hash)) ?? [], wanted))
  }
  baseFees.push(toQuantity(chain.nextBaseFee(newest, newest.timestamp + 1)))
  return {
    oldestBlock: toQuantity(oldest),
    ...(wanted.length > 0 ? { reward } : {}),
    baseFeePerGas: baseFees,
    gasUsedRatio,
    baseFeePerBlobGas: baseFees.map(() => '0x1'),
    blobGasUsedRatio: gasUsedRatio.map(() => 0),
  }
}

/** Tips at these percentiles of the gas used, as eth_feeHistory defines them. Zero for an empty block. */
function rewards(block: Block, receipts: readonly Receipt[], wanted: number[]): string[] {
  const items = block.transactions.map((transaction, index) => ({
    tip: isSigned(transaction) ? effectiveTip(transaction, block.header.baseFeePerGas) : 0n,
    gas: receipts[index]?.gasUsed ?? 0n,
  }))
  if (items.length === 0) return wanted.map(() => '0x0')
  items.sort((a, b) => compareBigints(a.tip, b.tip))
  let position = 0
  let sum = items[0]?.gas ?? 0n
  return wanted.map((percentile) => {
    const threshold = (Number(block.header.gasUsed) * percentile) / 100
    while (Number(sum) < threshold && position < items.length - 1) sum += items[++position]?.gas ?? 0n
    return toQuantity(items[position]?.tip ?? 0n)
  })
}

function readPercentiles(value: JsonValue): number[] {
  return readArray(value, 'rewardPercentiles', MAX_PERCENTILES).map((percentile) => {
    if (typeof percentile !== 'number') throw new TypeError('reward percentile: expected a number')
    return percentile
  })
}

/** geth's messages and code. */
function checkPercentiles(wanted: readonly number[]): void {
  for (const [position, percentile] of wanted.entries()) {
    if (percentile < 0 || percentile > 100) throw serverError(`invalid reward percentile: ${percentile.toFixed(6)}`)
    const before = wanted[position - 1]
    if (before !== undefined && percentile <= before) {
      const detail = `#${position - 1}:${before.toFixed(6)} >= #${position}:${percentile.toFixed(6)}`
      throw serverError(`invalid reward percentile: ${detail}`)
    }
  }
}

function compareBigints(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function bigMax(a: bigint, b: bigint): bigint {
  return compareBigints(a, b) < 0 ? b : a
}
