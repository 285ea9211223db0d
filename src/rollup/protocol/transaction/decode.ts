import { DecodeError } from '../../../lib/errors.ts'
import { keccak256Hex } from '../../../lib/hash.ts'
import type { Hex } from '../../../lib/hex.ts'
import { splitRlpList } from '../../../lib/rlp.ts'
import { ZERO_ADDRESS } from '../types.ts'
import { EncodedAuthorization } from './authorization.ts'
import { decodeDepositTx } from './deposit.ts'
import { DEPOSIT_TX_TYPE, POST_EXEC_TYPE_BYTE } from './fields.ts'
import { decodePostExecTx } from './postExec.ts'
import { TransactionReader } from './reader.ts'
import type { DepositTransaction, SignedTransaction, Transaction } from './types.ts'

/**
 * Decodes an L2 transaction in EIP-2718 encoding. Recovers the sender unless it is given. Throws DecodeError for
 * malformed data, an invalid signature, or a blob transaction, which OP chains do not have.
 */
export function decodeTransaction(raw: Uint8Array, sender?: Hex): Transaction {
  if (raw[0] === DEPOSIT_TX_TYPE) return decodeDeposit(raw)
  if (raw[0] !== POST_EXEC_TYPE_BYTE) return decodeSignedTransaction(raw, sender)
  const payload = decodePostExecTx(raw)
  return { type: POST_EXEC_TYPE_BYTE, hash: keccak256Hex(raw), from: ZERO_ADDRESS, data: raw.subarray(1), payload, raw }
}

export function isSignedEncoding(raw: Uint8Array): boolean {
  return raw[0] !== DEPOSIT_TX_TYPE && raw[0] !== POST_EXEC_TYPE_BYTE
}

export function decodeDeposit(raw: Uint8Array): DepositTransaction {
  const { gas, ...tx } = decodeDepositTx(raw)
  return { type: DEPOSIT_TX_TYPE, hash: keccak256Hex(raw), ...tx, gasLimit: gas, raw }
}

/** Like `decodeTransaction`, for signed types only. */
export function decodeSignedTransaction(raw: Uint8Array, sender?: Hex): SignedTransaction {
  const reader = new TransactionReader(raw)
  const { type } = reader
  if (type !== 0 && type !== 1 && type !== 2 && type !== 4)
    throw new DecodeError(`transaction type ${type} is not supported`, { at: 0 })
  const { chainId, ...signature } = reader.signature
  const { to } = reader
  if (type === 4 && to === null) throw new DecodeError('transaction: set-code transactions cannot create contracts')
  const hasTip = reader.has('maxPriorityFeePerGas')
  const maxFeePerGas = reader.bigint(hasTip ? 'maxFeePerGas' : 'gasPrice')
  return {
    type,
    hash: keccak256Hex(raw),
    from: sender ?? reader.sender({ ...signature, chainId }),
    to,
    nonce: reader.nonce,
    gasLimit: reader.bigint('gas'),
    value: reader.bigint('value'),
    data: reader.bytes('input'),
    ...(chainId === undefined ? {} : { chainId }),
    maxFeePerGas,
    maxPriorityFeePerGas: hasTip ? reader.bigint('maxPriorityFeePerGas') : maxFeePerGas,
    accessList: reader.accessList,
    ...(type === 4 ? { authorizationList: authorizationsOf(reader) } : {}),
    ...signature,
    raw,
  }
}

function authorizationsOf(reader: TransactionReader): EncodedAuthorization[] {
  const entries = splitRlpList(reader.encoding('authorizationList'), 'authorization list')
  if (entries.length === 0) throw new DecodeError('transaction: empty authorization list')
  return entries.map((entry) => new EncodedAuthorization(entry))
}
