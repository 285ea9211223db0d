import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import type { Hex } from '../../../lib/hex.ts'
import { decodeTransaction, isPostExecTx, type PostExecTx } from '../../../rollup/protocol/index.ts'

/** An L2 transaction of a batch. Amounts are decimal text: they pass what JSON numbers hold. */
export interface TransactionJson {
  /** null where the chain id that belongs into it is not known. */
  hash: Hex | null
  type: number
  from?: Hex | null
  to?: Hex | null
  value?: string
  nonce?: number
  gasLimit?: string
  bytes: number
  /** Content of a post-exec transaction (type 125). Refunds of versions other than 1 are not known. */
  postExec?: { version: number; blockNumber: number; refunds: { index: number; gasRefund: string }[] }
  /** Why this is no valid transaction: the batch is sound, the block that it makes is not. */
  invalid?: string
}

/** `isWhole`: the bytes are those that were signed. A span batch without its chain's id lacks some. */
export function describeTransaction(raw: Uint8Array, { isWhole }: { isWhole: boolean }): TransactionJson {
  const first = raw[0] ?? 0
  const type = first >= 0xc0 ? 0 : first
  const isPostExec = isPostExecTx(raw)
  const hash = isWhole || isPostExec ? keccak256Hex(raw) : null
  try {
    const tx = decodeTransaction(raw)
    if (tx.type === 0x7d) return { hash, type, bytes: raw.length, postExec: postExecJson(tx.payload) }
    return {
      hash,
      type,
      from: isWhole ? tx.from : null,
      to: tx.to,
      value: tx.value.toString(),
      nonce: 'nonce' in tx ? tx.nonce : 0,
      gasLimit: tx.gasLimit.toString(),
      bytes: raw.length,
    }
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    return { hash, type, bytes: raw.length, invalid: error.message }
  }
}

function postExecJson({ refunds, ...rest }: PostExecTx): NonNullable<TransactionJson['postExec']> {
  return { ...rest, refunds: refunds.map(({ index, gasRefund }) => ({ index, gasRefund: gasRefund.toString() })) }
}
