import { concatBytes } from '../../lib/bytes.ts'
import { DecodeError } from '../../lib/errors.ts'
import { fromHex, isHex, normalizeHex, quantityToBigInt } from '../../lib/hex.ts'
import { asArray, asObject, type JsonObject } from '../../lib/jsonReader.ts'
import { encodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { POST_EXEC_TYPE_BYTE } from '../protocol/payload/transactionList.ts'
import { isSystemTxFromJson } from '../protocol/transaction/deposit.ts'

/**
 * EIP-2718 bytes of a transaction as `eth_getBlockBy…` returns it. The engine's port serves no raw transactions (only
 * the `eth` and `engine` namespaces), so they are encoded again; deposits and post-exec transactions included.
 */
export function rawTransactionFromJson(json: unknown): Uint8Array {
  const tx = asObject(json, 'transaction')
  const type = tx.type === undefined ? 0 : Number(quantityToBigInt(tx.type, 'transaction type'))
  if (type === 0) return encodeRlp(legacyFields(tx))
  // Its input is all that stands behind the type byte (specs: lagoon/post-exec, "Encoding").
  if (type === POST_EXEC_TYPE_BYTE) return concatBytes(Uint8Array.of(type), input(tx))
  const fields = TYPED_FIELDS[type]
  if (fields === undefined) throw new DecodeError(`transaction type ${type} is not known`)
  return concatBytes(Uint8Array.of(type), encodeRlp(fields(tx)))
}

const TYPED_FIELDS: Record<number, (tx: JsonObject) => RlpInput[]> = {
  // EIP-2930
  1: (tx) => [
    quantity(tx, 'chainId'),
    quantity(tx, 'nonce'),
    quantity(tx, 'gasPrice'),
    quantity(tx, 'gas'),
    recipient(tx),
    quantity(tx, 'value'),
    input(tx),
    accessList(tx),
    ...signature(tx),
  ],
  // EIP-1559
  2: (tx) => [...feeMarketFields(tx), accessList(tx), ...signature(tx)],
  // EIP-7702
  4: (tx) => [...feeMarketFields(tx), accessList(tx), authorizationList(tx), ...signature(tx)],
  // specs: deposits, "The Deposited Transaction Type"
  126: (tx) => [
    fromHex(normalizeHex(tx.sourceHash, 32, 'transaction sourceHash')),
    fromHex(normalizeHex(tx.from, 20, 'transaction from')),
    recipient(tx),
    tx.mint === undefined || tx.mint === null ? 0n : quantity(tx, 'mint'),
    quantity(tx, 'value'),
    quantity(tx, 'gas'),
    isSystemTxFromJson(tx.isSystemTx) ? 1 : 0,
    input(tx),
  ],
}

function legacyFields(tx: JsonObject): RlpInput[] {
  return [
    quantity(tx, 'nonce'),
    quantity(tx, 'gasPrice'),
    quantity(tx, 'gas'),
    recipient(tx),
    quantity(tx, 'value'),
    input(tx),
    quantity(tx, 'v'),
    quantity(tx, 'r'),
    quantity(tx, 's'),
  ]
}

function feeMarketFields(tx: JsonObject): RlpInput[] {
  return [
    quantity(tx, 'chainId'),
    quantity(tx, 'nonce'),
    quantity(tx, 'maxPriorityFeePerGas'),
    quantity(tx, 'maxFeePerGas'),
    quantity(tx, 'gas'),
    recipient(tx),
    quantity(tx, 'value'),
    input(tx),
  ]
}

/** Typed transactions carry the parity as `yParity`, older engines only as `v`. */
function signature(tx: JsonObject): RlpInput[] {
  return [quantity(tx, tx.yParity === undefined ? 'v' : 'yParity'), quantity(tx, 'r'), quantity(tx, 's')]
}

function accessList(tx: JsonObject): RlpInput {
  return asArray(tx.accessList ?? [], 'transaction accessList').map((entry) => {
    const { address, storageKeys } = asObject(entry, 'access list entry')
    return [
      fromHex(normalizeHex(address, 20, 'access list address')),
      asArray(storageKeys, 'access list storageKeys').map((key) => fromHex(normalizeHex(key, 32, 'storage key'))),
    ]
  })
}

function authorizationList(tx: JsonObject): RlpInput {
  return asArray(tx.authorizationList, 'transaction authorizationList').map((entry) => {
    const authorization = asObject(entry, 'authorization')
    return [
      quantity(authorization, 'chainId'),
      fromHex(normalizeHex(authorization.address, 20, 'authorization address')),
      quantity(authorization, 'nonce'),
      ...signature(authorization),
    ]
  })
}

function recipient(tx: JsonObject): Uint8Array {
  return tx.to === null || tx.to === undefined ? new Uint8Array(0) : fromHex(normalizeHex(tx.to, 20, 'transaction to'))
}

function input(tx: JsonObject): Uint8Array {
  const data = tx.input ?? tx.data
  if (!isHex(data)) throw new DecodeError('transaction input: expected hex')
  return fromHex(data, undefined, 'transaction input')
}

function quantity(tx: JsonObject, field: string): bigint {
  return quantityToBigInt(tx[field], `transaction ${field}`)
}
