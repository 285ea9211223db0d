import { DecodeError } from '../../../lib/errors.ts'
import { type Hex, toHex, toQuantity } from '../../../lib/hex.ts'
import { JsonObjectReader, jsonBytes } from '../../../lib/jsonReader.ts'
import { isForkActive } from '../config/forks.ts'
import type { ExecutionPayload, PayloadAttributes, PayloadEnvelope, RollupConfig, Withdrawal } from '../types.ts'

const MAX_EXTRA_DATA_BYTES = 32

export interface WithdrawalJson {
  index: Hex
  validatorIndex: Hex
  address: Hex
  amount: Hex
}

/** Engine API form. Members of forks that the payload does not have are absent. */
export interface ExecutionPayloadJson {
  parentHash: Hex
  feeRecipient: Hex
  stateRoot: Hex
  receiptsRoot: Hex
  logsBloom: Hex
  prevRandao: Hex
  blockNumber: Hex
  gasLimit: Hex
  gasUsed: Hex
  timestamp: Hex
  extraData: Hex
  baseFeePerGas: Hex
  blockHash: Hex
  transactions: Hex[]
  withdrawals?: WithdrawalJson[]
  blobGasUsed?: Hex
  excessBlobGas?: Hex
  withdrawalsRoot?: Hex
}

/** Engine API form of the attributes, with the OP Stack's additions. */
export interface PayloadAttributesJson {
  timestamp: Hex
  prevRandao: Hex
  suggestedFeeRecipient: Hex
  withdrawals?: WithdrawalJson[]
  parentBeaconBlockRoot?: Hex
  transactions: Hex[]
  noTxPool: boolean
  gasLimit: Hex
  eip1559Params?: Hex
  /** A JSON number, not a quantity, as in op-node and the execution clients. */
  minBaseFee?: number
}

export function payloadToJson(payload: ExecutionPayload): ExecutionPayloadJson {
  const json: ExecutionPayloadJson = {
    parentHash: payload.parentHash,
    feeRecipient: payload.feeRecipient,
    stateRoot: payload.stateRoot,
    receiptsRoot: payload.receiptsRoot,
    logsBloom: payload.logsBloom,
    prevRandao: payload.prevRandao,
    blockNumber: toQuantity(payload.blockNumber),
    gasLimit: toQuantity(payload.gasLimit),
    gasUsed: toQuantity(payload.gasUsed),
    timestamp: toQuantity(payload.timestamp),
    extraData: payload.extraData,
    baseFeePerGas: toQuantity(payload.baseFeePerGas),
    blockHash: payload.blockHash,
    transactions: payload.transactions.map(toHex),
  }
  if (payload.withdrawals !== undefined) json.withdrawals = payload.withdrawals.map(withdrawalToJson)
  if (payload.blobGasUsed !== undefined) json.blobGasUsed = toQuantity(payload.blobGasUsed)
  if (payload.excessBlobGas !== undefined) json.excessBlobGas = toQuantity(payload.excessBlobGas)
  if (payload.withdrawalsRoot !== undefined) json.withdrawalsRoot = payload.withdrawalsRoot
  return json
}

/**
 * Parses the Engine API form. Throws DecodeError. Some execution clients report a `withdrawalsRoot` before Isthmus,
 * where it is not part of the payload. With `config` it is dropped.
 */
export function payloadFromJson(json: unknown, config?: RollupConfig): ExecutionPayload {
  const reader = new JsonObjectReader(json, 'executionPayload')
  const extraData = reader.bytes('extraData')
  if (extraData.length > MAX_EXTRA_DATA_BYTES) {
    throw new DecodeError(`executionPayload.extraData: ${extraData.length} bytes, at most ${MAX_EXTRA_DATA_BYTES}`)
  }
  const payload: ExecutionPayload = {
    parentHash: reader.hex('parentHash', 32),
    feeRecipient: reader.hex('feeRecipient', 20),
    stateRoot: reader.hex('stateRoot', 32),
    receiptsRoot: reader.hex('receiptsRoot', 32),
    logsBloom: reader.hex('logsBloom', 256),
    prevRandao: reader.hex('prevRandao', 32),
    blockNumber: reader.quantityNumber('blockNumber'),
    gasLimit: reader.quantity('gasLimit'),
    gasUsed: reader.quantity('gasUsed'),
    timestamp: reader.quantityNumber('timestamp'),
    extraData: toHex(extraData),
    baseFeePerGas: reader.quantity('baseFeePerGas'),
    blockHash: reader.hex('blockHash', 32),
    transactions: readTransactions(reader),
  }
  const withdrawals = readWithdrawals(reader)
  if (withdrawals !== undefined) payload.withdrawals = withdrawals
  const blobGasUsed = reader.optionalQuantity('blobGasUsed')
  if (blobGasUsed !== undefined) payload.blobGasUsed = blobGasUsed
  const excessBlobGas = reader.optionalQuantity('excessBlobGas')
  if (excessBlobGas !== undefined) payload.excessBlobGas = excessBlobGas
  const withdrawalsRoot = reader.optionalHex('withdrawalsRoot', 32)
  const isIsthmus = config === undefined || isForkActive(config, 'isthmus', payload.timestamp)
  if (withdrawalsRoot !== undefined && isIsthmus) payload.withdrawalsRoot = withdrawalsRoot
  return payload
}

/** `{parentBeaconBlockRoot?, executionPayload}`, as in engine_getPayload's result and in op-conductor's storage. */
export function payloadEnvelopeToJson(envelope: PayloadEnvelope): {
  parentBeaconBlockRoot?: Hex
  executionPayload: ExecutionPayloadJson
} {
  const executionPayload = payloadToJson(envelope.payload)
  if (envelope.parentBeaconBlockRoot === undefined) return { executionPayload }
  return { parentBeaconBlockRoot: envelope.parentBeaconBlockRoot, executionPayload }
}

/** Errors and `config` as in `payloadFromJson`. */
export function payloadEnvelopeFromJson(json: unknown, config?: RollupConfig): PayloadEnvelope {
  const reader = new JsonObjectReader(json, 'payload envelope')
  const payload = payloadFromJson(reader.raw('executionPayload'), config)
  const root = reader.optionalHex('parentBeaconBlockRoot', 32)
  return root === undefined ? { payload } : { parentBeaconBlockRoot: root, payload }
}

export function attributesToJson(attributes: PayloadAttributes): PayloadAttributesJson {
  const json: PayloadAttributesJson = {
    timestamp: toQuantity(attributes.timestamp),
    prevRandao: attributes.prevRandao,
    suggestedFeeRecipient: attributes.suggestedFeeRecipient,
    transactions: attributes.transactions.map(toHex),
    noTxPool: attributes.noTxPool,
    gasLimit: toQuantity(attributes.gasLimit),
  }
  if (attributes.withdrawals !== undefined) json.withdrawals = attributes.withdrawals.map(withdrawalToJson)
  if (attributes.parentBeaconBlockRoot !== undefined) json.parentBeaconBlockRoot = attributes.parentBeaconBlockRoot
  if (attributes.eip1559Params !== undefined) json.eip1559Params = attributes.eip1559Params
  if (attributes.minBaseFee !== undefined) json.minBaseFee = Number(attributes.minBaseFee)
  return json
}

/** Parses the Engine API form. Absent `transactions` mean none, absent `noTxPool` means false. Throws DecodeError. */
export function attributesFromJson(json: unknown): PayloadAttributes {
  const reader = new JsonObjectReader(json, 'payloadAttributes')
  const attributes: PayloadAttributes = {
    timestamp: reader.quantityNumber('timestamp'),
    prevRandao: reader.hex('prevRandao', 32),
    suggestedFeeRecipient: reader.hex('suggestedFeeRecipient', 20),
    transactions: reader.has('transactions') ? readTransactions(reader) : [],
    noTxPool: reader.optionalBoolean('noTxPool') ?? false,
    gasLimit: reader.quantity('gasLimit'),
  }
  const withdrawals = readWithdrawals(reader)
  if (withdrawals !== undefined) attributes.withdrawals = withdrawals
  const root = reader.optionalHex('parentBeaconBlockRoot', 32)
  if (root !== undefined) attributes.parentBeaconBlockRoot = root
  const eip1559Params = reader.optionalHex('eip1559Params', 8)
  if (eip1559Params !== undefined) attributes.eip1559Params = eip1559Params
  const minBaseFee = reader.optionalBigint('minBaseFee')
  if (minBaseFee !== undefined) attributes.minBaseFee = minBaseFee
  return attributes
}

function withdrawalToJson(withdrawal: Withdrawal): WithdrawalJson {
  return {
    index: toQuantity(withdrawal.index),
    validatorIndex: toQuantity(withdrawal.validatorIndex),
    address: withdrawal.address,
    amount: toQuantity(withdrawal.amount),
  }
}

function readWithdrawals(reader: JsonObjectReader): Withdrawal[] | undefined {
  return reader.optionalArray('withdrawals')?.map((item, i) => {
    const withdrawal = new JsonObjectReader(item, reader.pathOf(`withdrawals[${i}]`))
    return {
      index: withdrawal.quantity('index'),
      validatorIndex: withdrawal.quantity('validatorIndex'),
      address: withdrawal.hex('address', 20),
      amount: withdrawal.quantity('amount'),
    }
  })
}

function readTransactions(reader: JsonObjectReader): Uint8Array[] {
  return reader.array('transactions').map((tx, i) => jsonBytes(tx, reader.pathOf(`transactions[${i}]`)))
}
