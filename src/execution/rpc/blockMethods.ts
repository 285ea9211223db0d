import { toQuantity } from '../../lib/hex.ts'
import type { Block } from '../chain/block.ts'
import { findLabelledHeader } from './blockLookup.ts'
import type { MethodTable, RpcModules } from './context.ts'
import { formatBlock, formatHeader } from './formatBlock.ts'
import { formatReceipt } from './formatReceipt.ts'
import { formatTransaction, type JsonRecord } from './formatTransaction.ts'
import * as param from './params.ts'
import { type BlockSelector, method } from './params.ts'

/** eth_ methods that read blocks. */
export function createBlockMethods({ chain }: Pick<RpcModules, 'chain'>): MethodTable {
  const show = async (block: Block | undefined, full: boolean): Promise<JsonRecord | null> => {
    if (block === undefined) return null
    return formatBlock(block, full ? await chain.receipts(block.header.hash) : undefined)
  }
  const transactionAt = async (selector: BlockSelector, index: number): Promise<JsonRecord | null> => {
    const header = await findLabelledHeader(chain, selector)
    const block = header === undefined ? undefined : await chain.blockByHash(header.hash)
    const transaction = block?.transactions[index]
    if (block === undefined || transaction === undefined) return null
    const receipt = (await chain.receipts(block.header.hash))?.[index]
    return formatTransaction(transaction, { header: block.header, index, receipt })
  }
  const byHash = (hash: `0x${string}`): BlockSelector => ({ kind: 'hash', hash, requireCanonical: false })
  const transactionCount = async (selector: BlockSelector) => {
    const header = await findLabelledHeader(chain, selector)
    const block = header === undefined ? undefined : await chain.blockByHash(header.hash)
    return block === undefined ? null : toQuantity(block.transactions.length)
  }
  // Blocks of an OP Stack chain have no uncles.
  const uncleCount = async (selector: BlockSelector) =>
    (await findLabelledHeader(chain, selector)) === undefined ? null : '0x0'

  return {
    eth_blockNumber: method([], () => toQuantity(chain.head().number)),
    eth_getBlockByNumber: method([param.blockNumber, param.optional(param.flag, false)], async ([selector, full]) => {
      const header = await findLabelledHeader(chain, selector)
      return header === undefined ? null : show(await chain.blockByHash(header.hash), full)
    }),
    eth_getBlockByHash: method([param.hash, param.optional(param.flag, false)], async ([hash, full]) =>
      show(await chain.blockByHash(hash), full),
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
    eth_getBlockReceipts: method([param.blockSelector], async ([selector]) => {
      const header = await findLabelledHeader(chain, selector)
      if (header === undefined) return null
      const receipts = await chain.receipts(header.hash)
      return receipts?.map((receipt) => formatReceipt(receipt, header.timestamp)) ?? null
    }),
  }
}
