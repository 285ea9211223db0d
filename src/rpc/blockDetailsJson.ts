import type { z } from 'zod'
import type { BlockDetails } from '../rollup/node/api.ts'
import { decodeTransaction } from '../rollup/protocol/index.ts'
import type { Served } from './results.ts'
import type { blockDetails } from './schemas/blockDetails.ts'

/** Recovering a sender takes 40 µs, and no reader needs thousands. */
const MAX_TRANSACTIONS = 200

/** The result of devium_describeBlock. */
export function blockDetailsToJson({
  payload,
  safeBy,
  batchTransactions,
}: BlockDetails): Served<z.output<typeof blockDetails>> {
  return {
    number: payload.blockNumber,
    hash: payload.blockHash,
    parentHash: payload.parentHash,
    timestamp: payload.timestamp,
    stateRoot: payload.stateRoot,
    feeRecipient: payload.feeRecipient,
    gasUsed: payload.gasUsed,
    gasLimit: payload.gasLimit,
    baseFeePerGas: payload.baseFeePerGas.toString(),
    transactionCount: payload.transactions.length,
    transactions: payload.transactions.slice(0, MAX_TRANSACTIONS).map((raw) => {
      const transaction = decodeTransaction(raw)
      const { hash, type, from } = transaction
      const [to, value] = 'to' in transaction ? [transaction.to, transaction.value] : [null, 0n]
      return { hash, type, from, to, value: value.toString() }
    }),
    safeBy: safeBy ?? null,
    batchTransactions,
  }
}
