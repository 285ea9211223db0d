import type { Hex } from '../../../lib/hex.ts'
import { toHex, toQuantity } from '../../../lib/hex.ts'
import type { L1FeeFields, Log, Receipt } from '../../primitives/block.ts'
import type { JsonRecord } from './formatTransaction.ts'

/**
 * op-geth's JSON of a receipt: Ethereum's members, then the L1 costs or the deposit's members. Logs have the block's
 * timestamp.
 */
export function formatReceipt(receipt: Receipt, blockTimestamp: number): JsonRecord {
  const origin = { ...receipt, blockTimestamp }
  return {
    blockHash: receipt.blockHash,
    blockNumber: toQuantity(receipt.blockNumber),
    contractAddress: receipt.contractAddress,
    cumulativeGasUsed: toQuantity(receipt.cumulativeGasUsed),
    ...(receipt.depositNonce === undefined ? {} : { depositNonce: toQuantity(receipt.depositNonce) }),
    ...(receipt.depositReceiptVersion === undefined
      ? {}
      : { depositReceiptVersion: toQuantity(receipt.depositReceiptVersion) }),
    effectiveGasPrice: toQuantity(receipt.effectiveGasPrice),
    from: receipt.from,
    gasUsed: toQuantity(receipt.gasUsed),
    ...(receipt.l1Fee === undefined ? {} : formatL1Fee(receipt.l1Fee)),
    logs: receipt.logs.map((log) => formatLog(log, origin)),
    logsBloom: receipt.logsBloom,
    ...(receipt.gasRefund === undefined ? {} : { opGasRefund: formatRefund(receipt.gasRefund) }),
    status: toQuantity(receipt.status),
    to: receipt.to,
    transactionHash: receipt.transactionHash,
    transactionIndex: toQuantity(receipt.transactionIndex),
    type: toQuantity(receipt.type),
  }
}

function formatRefund(gasRefund: bigint | null): string | null {
  return gasRefund === null ? null : toQuantity(gasRefund)
}

export interface LogOrigin {
  blockHash: Hex
  blockNumber: number
  blockTimestamp: number
  transactionHash: Hex
  transactionIndex: number
}

export function formatLog(log: Log, origin: LogOrigin, removed = false): JsonRecord {
  return {
    address: log.address,
    topics: log.topics,
    data: toHex(log.data),
    blockNumber: toQuantity(origin.blockNumber),
    transactionHash: origin.transactionHash,
    transactionIndex: toQuantity(origin.transactionIndex),
    blockHash: origin.blockHash,
    blockTimestamp: toQuantity(origin.blockTimestamp),
    logIndex: toQuantity(log.logIndex),
    removed,
  }
}

function formatL1Fee(fee: L1FeeFields): JsonRecord {
  const quantities = {
    l1GasPrice: fee.l1GasPrice,
    l1GasUsed: fee.l1GasUsed,
    l1Fee: fee.l1Fee,
    l1BlobBaseFee: fee.l1BlobBaseFee,
    l1BaseFeeScalar: fee.l1BaseFeeScalar,
    l1BlobBaseFeeScalar: fee.l1BlobBaseFeeScalar,
    operatorFeeScalar: fee.operatorFeeScalar,
    operatorFeeConstant: fee.operatorFeeConstant,
    daFootprintGasScalar: fee.daFootprintGasScalar,
    blobGasUsed: fee.daFootprint,
  }
  const json: JsonRecord = {}
  for (const [name, value] of Object.entries(quantities)) if (value !== undefined) json[name] = toQuantity(value)
  if (fee.l1FeeScalar !== undefined) json.l1FeeScalar = fee.l1FeeScalar
  return json
}
