import { fromHex, toHex } from '../../../lib/hex.ts'
import { encodeBlock } from '../../chain/blockReader.ts'
import type { ReadableChain } from '../../chain/chainView.ts'
import { encodeHeader } from '../../chain/storage/headerCodec.ts'
import type { Receipt } from '../../primitives/block.ts'
import { encodeConsensusReceipt } from '../../tx/receiptCodec.ts'
import { findLabelledHeader } from '../blockLookup.ts'
import type { MethodTable } from '../context.ts'
import { serverError } from '../errors.ts'
import { blockSelector, method } from '../params.ts'

/** debug_getRaw*: consensus encodings, for tools that verify roots. */
export function createRawMethods(chain: ReadableChain): MethodTable {
  return {
    debug_getRawHeader: method([blockSelector], async ([selector]) => {
      const header = await findLabelledHeader(chain, selector)
      if (header === undefined) throw serverError('header not found')
      return toHex(encodeHeader(header))
    }),
    debug_getRawBlock: method([blockSelector], async ([selector]) => {
      const header = await findLabelledHeader(chain, selector)
      const block = header === undefined ? undefined : await chain.blockByHash(header.hash)
      if (block === undefined) throw serverError('block not found')
      return toHex(encodeBlock(block))
    }),
    debug_getRawReceipts: method([blockSelector], async ([selector]) => {
      const header = await findLabelledHeader(chain, selector)
      const receipts = header === undefined ? undefined : await chain.receipts(header.hash)
      if (receipts === undefined) throw serverError('block not found')
      return receipts.map((receipt) => toHex(encodeReceipt(receipt)))
    }),
  }
}

function encodeReceipt({ logsBloom, ...receipt }: Receipt): Uint8Array {
  return encodeConsensusReceipt({ ...receipt, logsBloom: fromHex(logsBloom) })
}
