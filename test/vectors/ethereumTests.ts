import type { MemoryAccount } from '../../src/execution/testUtils/memoryBlock.ts'
import type { Hex } from '../../src/lib/hex.ts'

// What state tests and blockchain tests have in common.

export interface EthereumTestResult {
  id: string
  /** Absent: it passed. */
  mismatch?: string
  skipped?: string
}

export interface EthereumAccount {
  balance: Hex
  nonce: Hex
  code: Hex
  storage: Record<Hex, Hex>
}

export function toMemoryAccount({ balance, nonce, code, storage }: EthereumAccount): MemoryAccount {
  return {
    balance: BigInt(balance),
    nonce: BigInt(nonce),
    ...(code === '0x' ? {} : { code }),
    storage: Object.fromEntries(Object.entries(storage).map(([slot, value]) => [slot, BigInt(value)])),
  }
}
