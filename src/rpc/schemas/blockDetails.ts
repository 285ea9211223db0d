import { z } from 'zod'
import { address, blockId, hash } from './blocks.ts'

const wei = z.string().describe('wei, in decimal digits')

/** The result of devium_describeBlock. */
export const blockDetails = z.object({
  number: z.number(),
  hash,
  parentHash: hash,
  timestamp: z.number(),
  stateRoot: hash,
  feeRecipient: address,
  gasUsed: z.number(),
  gasLimit: z.number(),
  baseFeePerGas: wei,
  transactionCount: z.number(),
  transactions: z
    .array(
      z.object({
        hash,
        type: z.number(),
        from: address,
        to: address.nullable().describe('null: the transaction creates a contract, or has no recipient'),
        value: wei,
      }),
    )
    .describe('the first 200'),
  safeBy: blockId.nullable().describe('the L1 block whose data made the block safe at this node'),
  batchTransactions: z.array(hash).describe('transactions of the batch submitter in that L1 block'),
})
