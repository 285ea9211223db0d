import type { Hex } from '../../../lib/hex.ts'
import { toHex, toQuantity } from '../../../lib/hex.ts'
import type { L1FeeFields, Log, Receipt } from '../../primitives/block.ts'
import { type JsonRecord, withQuantities } from './quantities.ts'

/**
 * op-geth's JSON of a receipt: Ethereum's members, then the L1 costs or the deposit's members. Logs have the block's
 * timestamp.
 */
export function formatReceipt(receipt: Receipt, blockTimestamp: number): JsonRecord {
  const { l1Fee, logs, gasRefund: opGasRefund, ...members } = receipt
  const origin = { ...receipt, blockTimestamp }
  return {
    ...withQuantities({ ...members, opGasRefund }),
    ...(l1Fee === undefined ? {} : formatL1Fee(l1Fee)),
    logs: logs.map((log) => formatLog(log, origin)),
  }
}

function formatL1Fee({ daFootprint: blobGasUsed, ...fee }: L1FeeFields): JsonRecord {
  return withQuantities({ ...fee, blobGasUsed })
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
