import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import type { Hex } from '../../../lib/hex.ts'
import { decodeTransaction, isPostExecTx, type PostExecTx } from '../../../rollup/protocol/index.ts'

/** An L2 transaction of a batch. Amounts are decimal text, because they exceed JSON numbers. */
export interface TransactionJson {
  /** null if the hash needs a chain id that is unknown. */
  hash: Hex | null
  type: number
  from?: Hex | null
  to?: Hex | null
  value?: string
  nonce?: number
  gasLimit?: string
  bytes: number
  /** Content of a post-exec transaction (type 125). Only version 1 has readable refunds. */
  postExec?: { version: number; blockNumber: number; refunds: { index: number; gasRefund: string }[] }
  /** Why the transaction is invalid. The batch is valid, but its block is not. */
  invalid?: string
}

/** `isWhole`: the bytes are the signed bytes. A span batch without the chain id lacks some of them. */
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
