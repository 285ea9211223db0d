import { EMPTY_BYTES } from '../../../lib/bytes.ts'
import { toHex, toQuantity } from '../../../lib/hex.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import type { BlockHeader } from '../../primitives/block.ts'
import { findLabelledHeader } from '../blockLookup.ts'
import type { MethodTable } from '../context.ts'
import { formatBlock, formatHeader } from '../format/formatBlock.ts'
import { formatReceipt } from '../format/formatReceipt.ts'
import { formatTransaction } from '../format/formatTransaction.ts'
import type { JsonRecord } from '../format/quantities.ts'
import * as param from '../params.ts'
import { type BlockSelector, method } from '../params.ts'

export function createBlockMethods(chain: ReadableChain): MethodTable {
  const blockOf = (header: BlockHeader | undefined) =>
    header === undefined ? undefined : chain.blockByHash(header.hash)
  const receiptsOf = (header: BlockHeader) => chain.receipts(header.hash)
  const show = async (header: BlockHeader | undefined, full: boolean): Promise<JsonRecord | null> => {
    const receipts = full && header !== undefined ? await receiptsOf(header) : undefined
    const block = await blockOf(header)
    return block === undefined ? null : formatBlock(block, receipts)
  }
  const blockAt = async (selector: BlockSelector) => blockOf(await findLabelledHeader(chain, selector))
  const transactionAt = async (selector: BlockSelector, index: number): Promise<JsonRecord | null> => {
    const block = await blockAt(selector)
    const transaction = block?.transactions[index]
    if (block === undefined || transaction === undefined) return null
    const receipt = (await receiptsOf(block.header))?.[index]
    return formatTransaction(transaction, { header: block.header, index, receipt })
  }
  const rawTransactionAt = async (selector: BlockSelector, index: number) =>
    toHex((await blockAt(selector))?.transactions[index]?.raw ?? EMPTY_BYTES)
  const byHash = (hash: `0x${string}`): BlockSelector => ({ kind: 'hash', hash, requireCanonical: false })
  const transactionCount = async (selector: BlockSelector) => {
    const block = await blockAt(selector)
    return block === undefined ? null : toQuantity(block.transactions.length)
  }
  // Blocks of an OP Stack chain have no uncles.
  const uncleCount = async (selector: BlockSelector) =>
    (await findLabelledHeader(chain, selector)) === undefined ? null : '0x0'

  return {
    eth_blockNumber: method([], () => toQuantity(chain.head().number)),
    eth_getBlockByNumber: method([param.blockNumber, param.optional(param.flag, false)], async ([selector, full]) => {
      return show(await findLabelledHeader(chain, selector), full)
    }),
    eth_getBlockByHash: method([param.hash, param.optional(param.flag, false)], async ([hash, full]) =>
      show(await chain.headerByHash(hash), full),
    ),
    eth_getHeaderByNumber: method([param.blockNumber], async ([selector]) => {
      const header = await findLabelledHeader(chain, selector)
      return header === undefined ? null : formatHeader(header)
    }),
    eth_getHeaderByHash: method([param.hash], async ([hash]) => {
      const header = await chain.headerByHash(hash)
      return header === undefined ? null : formatHeader(header)
    }),
    eth_getBlockTransactionCountByNumber: method([param.blockNumber], ([selector]) => transactionCount(selector)),
    eth_getBlockTransactionCountByHash: method([param.hash], ([hash]) => transactionCount(byHash(hash))),
    eth_getUncleCountByBlockNumber: method([param.blockNumber], ([selector]) => uncleCount(selector)),
    eth_getUncleCountByBlockHash: method([param.hash], ([hash]) => uncleCount(byHash(hash))),
    eth_getUncleByBlockNumberAndIndex: method([param.blockNumber, param.index], () => null),
    eth_getUncleByBlockHashAndIndex: method([param.hash, param.index], () => null),
    eth_getTransactionByBlockNumberAndIndex: method([param.blockNumber, param.index], ([selector, index]) =>
      transactionAt(selector, index),
    ),
    eth_getTransactionByBlockHashAndIndex: method([param.hash, param.index], ([hash, index]) =>
      transactionAt(byHash(hash), index),
    ),
    eth_getRawTransactionByBlockNumberAndIndex: method([param.blockNumber, param.index], ([selector, index]) =>
      rawTransactionAt(selector, index),
    ),
    eth_getRawTransactionByBlockHashAndIndex: method([param.hash, param.index], ([hash, index]) =>
      rawTransactionAt(byHash(hash), index),
    ),
    eth_getBlockReceipts: method([param.blockSelector], async ([selector]) => {
      const header = await findLabelledHeader(chain, selector)
      if (header === undefined) return null
      const receipts = await receiptsOf(header)
      return receipts?.map((receipt) => formatReceipt(receipt, header.timestamp)) ?? null
    }),
  }
}
