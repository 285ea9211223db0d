import { expect, it } from 'vitest'
import { payloadToHeader } from './payload.ts'
import type { ExecutionPayload, Withdrawal } from './types.ts'
import { ZERO_ADDRESS, ZERO_HASH } from './types.ts'

const CANYON: ExecutionPayload = {
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
  withdrawals: [],
}

it('hashes withdrawals until Isthmus, as EthereumJS does', () => {
  const withdrawals: Withdrawal[] = [
    { index: 1n, validatorIndex: 2n, address: `0x${'11'.repeat(20)}`, amount: 3n },
    { index: 2n, validatorIndex: 70_000n, address: `0x${'22'.repeat(20)}`, amount: 32_000_000_000n },
  ]
  const rootOf = (changes: Partial<ExecutionPayload>) =>
    payloadToHeader({ payload: { ...CANYON, ...changes } }).withdrawalsRoot
  expect(rootOf({})).toBe('0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421')
  expect(rootOf({ withdrawals })).toBe('0x38258c434023144a67c7442ff3f53cc53c7d5a162dc05c312031bc62b868edce')
  const withdrawalsRoot = `0x${'33'.repeat(32)}` as const
  expect(rootOf({ withdrawals, withdrawalsRoot })).toBe(withdrawalsRoot)
})
