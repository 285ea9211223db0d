import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import {
  BASE_FEE_VAULT_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
} from '../../rollup/protocol/index.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { COINBASE } from '../testUtils/memoryBlock.ts'
import { executeRefunded } from '../testUtils/refundedBlock.ts'
import { signTransaction, testAddress, testKey } from '../testUtils/signTransaction.ts'

const ETHER = 10n ** 18n
const BASE_FEE = 1_000n
const SENDERS = [1, 2, 3] as const
/** SSTORE(calldata[0], 1) */
const STORE: Hex = `0x${'5e'.repeat(20)}`
const ACCOUNTS = {
  ...Object.fromEntries(SENDERS.map((index) => [testAddress(index), { balance: ETHER }])),
  [STORE]: { code: '0x60015f355500' as Hex },
}
const HOLDERS = [
  ...SENDERS.map(testAddress),
  COINBASE,
  BASE_FEE_VAULT_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  OPERATOR_FEE_VAULT_ADDRESS,
]
const [FIRST_SENDER] = HOLDERS as [Hex]

/** Jovian's operator fee with the parameters of L1_BLOCK_ACCOUNT. */
const operatorFee = (gas: bigint) => gas * 5_000_000n * 100n + 77n

/** One transaction of a sender: its price per gas, and the part of its gas that is refunded, in thousandths. */
const planned = fc.record({
  sender: fc.constantFrom(...SENDERS),
  maxFeePerGas: fc.bigInt({ min: BASE_FEE, max: 1_000_000n }),
  maxPriorityFeePerGas: fc.bigInt({ min: 0n, max: 1_000_000n }),
  slot: fc.nat(3),
  thousandths: fc.option(fc.bigInt({ min: 1n, max: 1_000n }), { nil: undefined }),
})

function transactionsOf(plans: readonly (typeof planned extends fc.Arbitrary<infer T> ? T : never)[]) {
  const nonces = new Map<number, number>()
  return plans.map(({ sender, maxFeePerGas, maxPriorityFeePerGas, slot }) => {
    const nonce = nonces.get(sender) ?? 0
    nonces.set(sender, nonce + 1)
    const tip = maxPriorityFeePerGas < maxFeePerGas ? maxPriorityFeePerGas : maxFeePerGas
    const data = new Uint8Array(32)
    data[31] = slot
    const fees = { maxFeePerGas, maxPriorityFeePerGas: tip }
    return signTransaction(testKey(sender), { nonce, to: STORE, data, gasLimit: 100_000n, ...fees })
  })
}

const priceOf = ({ maxFeePerGas, maxPriorityFeePerGas }: SignedTransaction) => {
  const price = BASE_FEE + maxPriorityFeePerGas
  return price < maxFeePerGas ? price : maxFeePerGas
}

describe('the settlement of refunds (Lagoon)', () => {
  it('moves ether only from the fee vaults to the senders, over random blocks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(planned, { minLength: 1, maxLength: 6 }), async (plans) => {
        const transactions = transactionsOf(plans)
        const plain = await executeRefunded({ accounts: ACCOUNTS }, transactions)
        const { receipts } = plain.execution.finish()
        const gasOf = (index: number) =>
          (receipts[index]?.cumulativeGasUsed ?? 0n) - (receipts[index - 1]?.cumulativeGasUsed ?? 0n)
        const refunds = new Map<number, bigint>()
        const moved = new Map<Hex, bigint>(HOLDERS.map((address) => [address, 0n]))
        const move = (address: Hex, wei: bigint) => moved.set(address, (moved.get(address) ?? 0n) + wei)
        let refunded = 0n
        for (const [place, { sender, thousandths }] of plans.entries()) {
          const tx = transactions[place]
          const index = place + 1
          if (thousandths === undefined || tx === undefined) continue
          const evmGas = gasOf(index)
          const refund = (evmGas * thousandths) / 1_000n
          if (refund === 0n) continue
          refunds.set(index, refund)
          refunded += refund
          const price = priceOf(tx)
          const operator = operatorFee(evmGas) - operatorFee(evmGas - refund)
          move(testAddress(sender), refund * price + operator)
          move(COINBASE, -refund * (price - BASE_FEE))
          move(BASE_FEE_VAULT_ADDRESS, -refund * BASE_FEE)
          move(OPERATOR_FEE_VAULT_ADDRESS, -operator)
        }
        const settled = await executeRefunded({ accounts: ACCOUNTS }, transactions, refunds)
        for (const address of HOLDERS) {
          expect(settled.world.balance(address) - plain.world.balance(address)).toBe(moved.get(address))
        }
        expect([...moved.values()].reduce((sum, wei) => sum + wei, 0n)).toBe(0n)
        const before = receipts.at(-1)?.cumulativeGasUsed ?? 0n
        const result = settled.execution.finish()
        expect(result.gasUsed).toBe(before - refunded)
        expect(result.receipts.at(-1)?.cumulativeGasUsed).toBe(result.gasUsed)
        for (const [index, refund] of refunds) {
          const cumulative = result.receipts.map(({ cumulativeGasUsed }) => cumulativeGasUsed)
          expect((cumulative[index] ?? 0n) - (cumulative[index - 1] ?? 0n)).toBe(gasOf(index) - refund)
        }
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it('leaves only the L1 fee paid if a block refunds all gas', async () => {
    const tx = signTransaction(testKey(1), { maxFeePerGas: BASE_FEE, maxPriorityFeePerGas: 0n })
    const { world } = await executeRefunded({ accounts: ACCOUNTS }, [tx], new Map([[1, 21_000n]]))
    expect(world.balance(FIRST_SENDER)).toBe(ETHER - world.balance(L1_FEE_VAULT_ADDRESS) - operatorFee(0n))
    expect(world.balance(BASE_FEE_VAULT_ADDRESS)).toBe(0n)
    expect(world.balance(COINBASE)).toBe(0n)
  })

  it('makes a block invalid that refunds more gas than was used', async () => {
    const block = executeRefunded({ accounts: ACCOUNTS }, [signTransaction(testKey(1))], new Map([[1, 21_001n]]))
    await expect(block).rejects.toMatchObject({ code: 'invalid-block', details: { problem: 'refund-too-large' } })
  })
})

describe('a refunded transaction', () => {
  // The specs do not say whether EIP-7623 applies after the refund. In op-reth it does not.
  it('may pay less than the calldata floor', async () => {
    const data = new Uint8Array(1_000).fill(1)
    const floor = 21_000n + 40n * 1_000n
    const tx = signTransaction(testKey(1), { data, gasLimit: floor })
    const { execution } = await executeRefunded({ accounts: ACCOUNTS }, [tx], new Map([[1, 5n]]))
    const [info, receipt] = execution.finish().receipts
    const gasUsed = (receipt?.cumulativeGasUsed ?? 0n) - (info?.cumulativeGasUsed ?? 0n)
    expect(gasUsed).toBe(floor - 5n)
    // The other reading.
    expect(gasUsed).not.toBe(floor)
  })

  // The specs do not say whether the block's gas limit counts gas before or after refunds. op-reth: before.
  it('does not free gas for further transactions in its block', async () => {
    const transactions = [0, 1].map((nonce) => signTransaction(testKey(1), { nonce }))
    const plain = await executeRefunded({ accounts: ACCOUNTS }, transactions.slice(0, 1))
    const gasLimit = plain.execution.finish().gasUsed + 21_000n - 1n
    // By the other reading, the second transaction fits.
    const full = executeRefunded({ accounts: ACCOUNTS, block: { gasLimit } }, transactions, new Map([[1, 1_000n]]))
    await expect(full).rejects.toThrow('gas limit reached: have 20999, want 21000')
    const block = { gasLimit: gasLimit + 1n }
    await executeRefunded({ accounts: ACCOUNTS, block }, transactions, new Map([[1, 1_000n]]))
  })

  it('does not change the DA footprint of its block', async () => {
    const transactions = [signTransaction(testKey(1))]
    const plain = (await executeRefunded({ accounts: ACCOUNTS }, transactions)).execution.finish()
    const { execution } = await executeRefunded({ accounts: ACCOUNTS }, transactions, new Map([[1, 5n]]))
    const result = execution.finish()
    expect(result.daFootprint).toBe(100n * 400n)
    expect(result.daFootprint).toBe(plain.daFootprint)
    expect(result.receipts.at(-1)).toMatchObject({ type: 0x7d, status: 1, logs: [], logsBloom: new Uint8Array(256) })
    expect(execution.mayTake(signTransaction(testKey(2)))).toBe(false)
  })
})
