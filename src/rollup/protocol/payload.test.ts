import { expect, it } from 'vitest'
import { payloadToHeader } from './payload.ts'
import { EMPTY_PAYLOAD } from './testUtils/payload.ts'
import type { ExecutionPayload, Withdrawal } from './types.ts'

const CANYON: ExecutionPayload = { ...EMPTY_PAYLOAD, withdrawals: [] }

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
