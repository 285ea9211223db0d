import { concatBytes } from '../../../lib/bytes.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { decodeRlp, encodeRlp, rlpBytes, rlpList } from '../../../lib/rlp.ts'
import { decodeTransaction, isSignedEncoding } from '../../../rollup/protocol/index.ts'
import type { Transaction } from '../../primitives/block.ts'

const ADDRESS_BYTES = 20

/**
 * Storage format of a block's transactions: the RLP list of their EIP-2718 encodings. If some are signed: a list of
 * that list and of the concatenated senders' addresses. Recovering senders takes longer than all other decoding.
 */
export function encodeBody(transactions: readonly Pick<Transaction, 'raw' | 'from'>[]): Uint8Array {
  const encodings = transactions.map(({ raw }) => raw)
  const senders = transactions.filter(({ raw }) => isSignedEncoding(raw)).map(({ from }) => fromHex(from))
  return encodeRlp(senders.length === 0 ? encodings : [encodings, concatBytes(...senders)])
}

/** Recovers the senders of a body that was stored without them. Throws DecodeError. */
export function decodeBody(body: Uint8Array): Transaction[] {
  const items = rlpList(decodeRlp(body), 'body')
  const [first, second] = items
  if (!Array.isArray(first)) return items.map((raw) => decodeTransaction(rlpBytes(raw, 'transaction')))
  const senders = rlpBytes(second, 'senders')
  let at = 0
  return first.map((item) => {
    const raw = rlpBytes(item, 'transaction')
    if (!isSignedEncoding(raw)) return decodeTransaction(raw)
    at += ADDRESS_BYTES
    return decodeTransaction(raw, toHex(senders.subarray(at - ADDRESS_BYTES, at)))
  })
}
