import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { keccak256, keccak256Hex } from '../../lib/hash.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import {
  decodeRlp,
  encodeRlp,
  type RlpItem,
  rlpBigInt,
  rlpBytes,
  rlpList,
  rlpListHeader,
  rlpNumber,
  splitRlpList,
} from '../../lib/rlp.ts'
import { publicKeyToAddress, recoverPublicKey } from '../../lib/secp256k1.ts'
import { DEPOSIT_TX_TYPE, decodeDepositTx } from '../../rollup/protocol/index.ts'
import { decodePostExecTx, isPostExecTx } from '../../rollup/protocol/transaction/postExec.ts'
import { ZERO_ADDRESS } from '../../rollup/protocol/types.ts'
import type {
  AccessListEntry,
  DepositTransaction,
  PostExecTransaction,
  SignedTransaction,
  Transaction,
} from '../chain/block.ts'
import { decodeAuthorizations } from './authorization.ts'
import { MAX_LOW_S, SECP256K1_ORDER } from './signatureLimits.ts'

/**
 * Decodes an EIP-2718 encoding and recovers the sender, unless it was recovered before. Deposits (0x7e) and post-exec
 * transactions (0x7d) are accepted. Throws DecodeError for anything malformed, for a bad signature and for blob transactions, which
 * OP chains do not have.
 */
export function decodeTransaction(raw: Uint8Array, sender?: Hex): Transaction {
  if (raw[0] === DEPOSIT_TX_TYPE) return decodeDeposit(raw)
  return isPostExecTx(raw) ? decodePostExec(raw) : decodeSignedTransaction(raw, sender)
}

/** Whether somebody has signed a transaction of this encoding. */
export function isSignedEncoding(raw: Uint8Array): boolean {
  return raw[0] !== DEPOSIT_TX_TYPE && !isPostExecTx(raw)
}

function decodePostExec(raw: Uint8Array): PostExecTransaction {
  const payload = decodePostExecTx(raw)
  return { type: 0x7d, hash: keccak256Hex(raw), from: ZERO_ADDRESS, data: raw.subarray(1), payload, raw }
}

export function decodeDeposit(raw: Uint8Array): DepositTransaction {
  const { gas, ...tx } = decodeDepositTx(raw)
  return { type: DEPOSIT_TX_TYPE, hash: keccak256Hex(raw), ...tx, gasLimit: gas, raw }
}

/** As decodeTransaction, of what somebody has signed. */
export function decodeSignedTransaction(raw: Uint8Array, sender?: Hex): SignedTransaction {
  const type = raw[0]
  if (type === undefined) throw new DecodeError('transaction: empty')
  if (type >= 0xc0) return decodeLegacy(raw, sender)
  if (type !== 1 && type !== 2 && type !== 4) throw new DecodeError('transaction type not supported')
  const encodings = splitRlpList(raw.subarray(1), 'transaction', FIELD_COUNT[type])
  const list = type === 4 ? encodings[AUTHORIZATION_LIST] : undefined
  const fields = encodings.map((encoding) => (encoding === list ? NO_ITEMS : decodeRlp(encoding)))
  // Type 1 has one fee field, the others two.
  const fees = type === 1 ? 2 : 3
  const maxPriorityFeePerGas = rlpBigInt(fields[2], 'transaction fee')
  const maxFeePerGas = type === 1 ? maxPriorityFeePerGas : rlpBigInt(fields[3], 'transaction fee')
  const body = fees + 1
  const yParity = rlpBigInt(fields[fields.length - 3], 'transaction parity')
  const authorizationList = list && decodeAuthorizations(list)
  const to = decodeRecipient(fields[body + 1])
  if (type === 4 && to === null) throw new DecodeError('transaction: set-code transactions cannot create contracts')
  const signature = decodeSignature(fields[fields.length - 2], fields[fields.length - 1], yParity)
  return {
    type,
    hash: keccak256Hex(raw),
    from: sender ?? recoverSender(signingHash(type, encodings), signature),
    to,
    nonce: rlpNumber(fields[1], 'transaction nonce'),
    gasLimit: rlpBigInt(fields[body], 'transaction gas limit', 8),
    value: rlpBigInt(fields[body + 2], 'transaction value'),
    data: rlpBytes(fields[body + 3], 'transaction data'),
    chainId: rlpBigInt(fields[0], 'transaction chain id'),
    maxFeePerGas,
    maxPriorityFeePerGas,
    accessList: decodeAccessList(fields[body + 4]),
    ...(authorizationList === undefined ? {} : { authorizationList }),
    v: yParity,
    r: signature.r,
    s: signature.s,
    yParity: signature.yParity,
    raw,
  }
}

const FIELD_COUNT = { 1: 11, 2: 12, 4: 13 } as const
const AUTHORIZATION_LIST = 9
const NO_ITEMS: RlpItem[] = []

function decodeLegacy(raw: Uint8Array, sender?: Hex): SignedTransaction {
  const encodings = splitRlpList(raw, 'transaction', 9)
  const fields = encodings.map(decodeRlp)
  const v = rlpBigInt(fields[6], 'transaction v')
  const isProtected = v >= 35n
  if (!isProtected && v !== 27n && v !== 28n) throw new DecodeError(`transaction: v is ${v}`)
  const chainId = isProtected ? (v - 35n) / 2n : undefined
  const parity = isProtected ? (v - 35n) % 2n : v - 27n
  const signature = decodeSignature(fields[7], fields[8], parity)
  const gasPrice = rlpBigInt(fields[1], 'transaction gas price')
  return {
    type: 0,
    hash: keccak256Hex(raw),
    from: sender ?? recoverSender(legacySigningHash(encodings, chainId), signature),
    to: decodeRecipient(fields[3]),
    nonce: rlpNumber(fields[0], 'transaction nonce'),
    gasLimit: rlpBigInt(fields[2], 'transaction gas limit', 8),
    value: rlpBigInt(fields[4], 'transaction value'),
    data: rlpBytes(fields[5], 'transaction data'),
    ...(chainId === undefined ? {} : { chainId }),
    maxFeePerGas: gasPrice,
    maxPriorityFeePerGas: gasPrice,
    accessList: [],
    v,
    r: signature.r,
    s: signature.s,
    yParity: signature.yParity,
    raw,
  }
}

interface Signature {
  r: bigint
  s: bigint
  rBytes: Uint8Array
  sBytes: Uint8Array
  yParity: 0 | 1
}

function decodeSignature(rItem: RlpItem | undefined, sItem: RlpItem | undefined, parity: bigint): Signature {
  const r = rlpBigInt(rItem, 'transaction r')
  const s = rlpBigInt(sItem, 'transaction s')
  if (r === 0n || r >= SECP256K1_ORDER || s === 0n || s > MAX_LOW_S || (parity !== 0n && parity !== 1n)) {
    throw new DecodeError('transaction: invalid signature values')
  }
  return { r, s, rBytes: rlpBytes(rItem, 'r'), sBytes: rlpBytes(sItem, 's'), yParity: parity === 1n ? 1 : 0 }
}

function recoverSender(hash: Uint8Array, { rBytes, sBytes, yParity }: Signature): Hex {
  return publicKeyToAddress(recoverPublicKey(hash, rBytes, sBytes, yParity))
}

function signingHash(type: number, encodings: Uint8Array[]): Uint8Array {
  const signed = encodings.slice(0, -3)
  return keccak256(concatBytes(Uint8Array.of(type), rlpListHeader(lengthOf(signed)), ...signed))
}

function legacySigningHash(encodings: Uint8Array[], chainId: bigint | undefined): Uint8Array {
  const signed = encodings.slice(0, 6)
  if (chainId !== undefined) signed.push(encodeRlp(chainId), encodeRlp(0), encodeRlp(0))
  return keccak256(concatBytes(rlpListHeader(lengthOf(signed)), ...signed))
}

function lengthOf(encodings: readonly Uint8Array[]): number {
  return encodings.reduce((sum, { length }) => sum + length, 0)
}

function decodeRecipient(item: RlpItem | undefined): Hex | null {
  const to = rlpBytes(item, 'transaction recipient')
  if (to.length === 0) return null
  if (to.length !== 20) throw new DecodeError(`transaction recipient: ${to.length} bytes`)
  return toHex(to)
}

function decodeAccessList(item: RlpItem | undefined): AccessListEntry[] {
  return rlpList(item, 'access list').map((entry) => {
    const [address, keys] = rlpList(entry, 'access list entry', 2)
    return {
      address: toHex(rlpBytes(address, 'access list address', 20)),
      storageKeys: rlpList(keys, 'access list keys').map((key) => toHex(rlpBytes(key, 'access list key', 32))),
    }
  })
}

/** Wei per gas that the transaction pays over the base fee; negative when it cannot pay the base fee. */
export function effectiveTip(
  tx: Pick<SignedTransaction, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  baseFee: bigint,
): bigint {
  const room = tx.maxFeePerGas - baseFee
  return room < tx.maxPriorityFeePerGas ? room : tx.maxPriorityFeePerGas
}

/** Address of a contract created by a transaction: keccak256(rlp([sender, nonce])). */
export function createAddress(sender: Uint8Array, nonce: bigint): Hex {
  return toHex(keccak256(encodeRlp([sender, nonce])).subarray(12))
}
