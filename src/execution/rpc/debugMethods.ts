import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { decodeRlp, encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import type { Block, Receipt } from '../chain/block.ts'
import { encodeHeader } from '../chain/headerCodec.ts'
import { encodeConsensusReceipt } from '../tx/receiptCodec.ts'
import { findLabelledHeader, serverError } from './blockLookup.ts'
import type { MethodTable, RpcModules } from './context.ts'
import { blockSelector, hash, method } from './params.ts'

/** debug_getRaw*: consensus encodings, for tools that check roots themselves. */
export function createDebugMethods({ chain, pool }: Pick<RpcModules, 'chain' | 'pool'>): MethodTable {
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
    debug_getRawTransaction: method([hash], async ([wanted]): Promise<Hex> => {
      const transaction = (await chain.transactionByHash(wanted))?.transaction ?? pool.get(wanted)
      return transaction === undefined ? '0x' : toHex(transaction.raw)
    }),
  }
}

/** Yellow Paper section 4.3; typed transactions stand in the list as byte strings. */
export function encodeBlock({ header, transactions, withdrawals }: Block): Uint8Array {
  const list: RlpInput[] = transactions.map(({ raw }) => ((raw[0] ?? 0) >= 0xc0 ? decodeRlp(raw) : raw))
  const parts: RlpInput[] = [decodeRlp(encodeHeader(header)), list, []]
  if (withdrawals !== undefined) {
    parts.push(
      withdrawals.map(({ index, validatorIndex, address, amount }) => [
        index,
        validatorIndex,
        fromHex(address),
        amount,
      ]),
    )
  }
  return encodeRlp(parts)
}

function encodeReceipt({ logsBloom, ...receipt }: Receipt): Uint8Array {
  return encodeConsensusReceipt({ ...receipt, logsBloom: fromHex(logsBloom) })
}
