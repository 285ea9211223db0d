import { type ExecutionPayload, ZERO_ADDRESS, ZERO_HASH } from '../types.ts'

/** An empty block before Canyon. */
export const EMPTY_PAYLOAD: ExecutionPayload = {
  parentHash: ZERO_HASH,
  feeRecipient: ZERO_ADDRESS,
  stateRoot: ZERO_HASH,
  receiptsRoot: ZERO_HASH,
  logsBloom: `0x${'00'.repeat(256)}`,
  prevRandao: ZERO_HASH,
  blockNumber: 1,
  gasLimit: 1n,
  gasUsed: 0n,
  timestamp: 1,
  extraData: '0x',
  baseFeePerGas: 1n,
  blockHash: ZERO_HASH,
  transactions: [],
}
