import { keccak256, keccak256Hex } from '../../lib/hash.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import type { RecoverableSignature } from '../../lib/secp256k1.ts'

/** An unsigned EIP-1559 transaction without access list: the only kind the batcher sends. */
export interface DynamicFeeTx {
  chainId: bigint
  nonce: number
  /** Wei per gas. */
  maxPriorityFeePerGas: bigint
  /** Wei per gas. */
  maxFeePerGas: bigint
  gasLimit: bigint
  to: Hex
  value: bigint
  data: Uint8Array
}

export interface SignedTx {
  hash: Hex
  /** EIP-2718 encoding, as eth_sendRawTransaction takes it. */
  raw: Uint8Array
}

/** EIP-2718 type byte of EIP-1559 transactions. */
const DYNAMIC_FEE_TX_TYPE = 0x02

function fieldsOf(tx: DynamicFeeTx): RlpInput[] {
  return [
    tx.chainId,
    tx.nonce,
    tx.maxPriorityFeePerGas,
    tx.maxFeePerGas,
    tx.gasLimit,
    fromHex(tx.to, 20, 'transaction recipient'),
    tx.value,
    tx.data,
    [],
  ]
}

function typed(fields: RlpInput[]): Uint8Array {
  const body = encodeRlp(fields)
  const out = new Uint8Array(body.length + 1)
  out[0] = DYNAMIC_FEE_TX_TYPE
  out.set(body, 1)
  return out
}

/** The hash that the sender signs (EIP-1559). */
export function dynamicFeeTxSigningHash(tx: DynamicFeeTx): Uint8Array {
  return keccak256(typed(fieldsOf(tx)))
}

export function encodeSignedDynamicFeeTx(tx: DynamicFeeTx, signature: RecoverableSignature): SignedTx {
  const raw = typed([
    ...fieldsOf(tx),
    signature.yParity,
    stripLeadingZeros(signature.r),
    stripLeadingZeros(signature.s),
  ])
  return { hash: keccak256Hex(raw), raw }
}

function stripLeadingZeros(bytes: Uint8Array): Uint8Array {
  let start = 0
  while (start < bytes.length && bytes[start] === 0) start++
  return bytes.subarray(start)
}
