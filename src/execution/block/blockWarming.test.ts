import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { fromHex, type Hex } from '../../lib/hex.ts'
import { BASE_FEE_VAULT_ADDRESS } from '../../rollup/protocol/index.ts'
import { Substate } from '../evm/interpreter/substate.ts'
import type { SignedTransaction } from '../primitives/block.ts'
import { deposit } from '../testUtils/memoryBlock.ts'
import { executeRefunded, executeWarming } from '../testUtils/refundedBlock.ts'
import { signTransaction, testAddress, testKey } from '../testUtils/signTransaction.ts'
import { type Warmed, WatchedTransaction } from './blockWarming.ts'

const CONTRACT: Hex = `0x${'c0'.repeat(20)}`
const INNER: Hex = `0x${'c1'.repeat(20)}`
const DELEGATED: Hex = `0x${'c2'.repeat(20)}`
const DELEGATE: Hex = `0x${'c3'.repeat(20)}`
const OTHER: Hex = `0x${'0d'.repeat(20)}`
const [ONE, TWO, THREE] = [1, 2, 3].map(testAddress) as [Hex, Hex, Hex]
const FUNDED = Object.fromEntries([ONE, TWO, THREE].map((address) => [address, { balance: 10n ** 18n }]))
const SLOT: Hex = `0x${'05'.padStart(64, '0')}`

/** Opcodes with the first word of the call data as operand. */
const CODES = {
  SLOAD: '0x5f35545000',
  SSTORE: '0x60015f355500',
  BALANCE: '0x5f35315000',
  EXTCODESIZE: '0x5f353b5000',
  EXTCODEHASH: '0x5f353f5000',
  EXTCODECOPY: '0x5f5f5f5f353c00',
  CALL: '0x5f5f5f5f5f5f355af15000',
  CALLCODE: '0x5f5f5f5f5f5f355af25000',
  DELEGATECALL: '0x5f5f5f5f5f355af45000',
  STATICCALL: '0x5f5f5f5f5f355afa5000',
  SELFDESTRUCT: '0x5f35ff',
} as const

function word(value: Hex): Uint8Array {
  const bytes = fromHex(value)
  return concatBytes(new Uint8Array(32 - bytes.length), bytes)
}

/** The sender sends no other transaction. */
function call(sender: number, data: Uint8Array, to: Hex = CONTRACT): SignedTransaction {
  return signTransaction(testKey(sender), { to, data, gasLimit: 200_000n })
}

describe('the refund for accesses that the block has warmed', () => {
  it.each([
    { opcode: 'SLOAD' as const, word: SLOT, refund: 2_000n },
    { opcode: 'SSTORE' as const, word: SLOT, refund: 2_100n },
    { opcode: 'BALANCE' as const, word: OTHER, refund: 2_500n },
    { opcode: 'EXTCODESIZE' as const, word: OTHER, refund: 2_500n },
    { opcode: 'EXTCODEHASH' as const, word: OTHER, refund: 2_500n },
    { opcode: 'EXTCODECOPY' as const, word: OTHER, refund: 2_500n },
    { opcode: 'CALL' as const, word: OTHER, refund: 2_500n },
    { opcode: 'CALLCODE' as const, word: OTHER, refund: 2_500n },
    { opcode: 'DELEGATECALL' as const, word: OTHER, refund: 2_500n },
    { opcode: 'STATICCALL' as const, word: OTHER, refund: 2_500n },
    // A warm beneficiary costs nothing.
    { opcode: 'SELFDESTRUCT' as const, word: OTHER, refund: 2_600n },
  ])('is $refund gas to the second transaction with $opcode', async ({ opcode, word: operand, refund }) => {
    const accounts = { ...FUNDED, [CONTRACT]: { code: CODES[opcode] } }
    const data = word(operand)
    const transactions = [call(1, data), call(2, data), call(3, data)]
    const refunds = await executeWarming({ accounts }, transactions)
    expect(refunds).toEqual([undefined, refund, refund])
    // A verifier computes the same gas.
    const given = new Map(refunds.flatMap((gas, index) => (gas === undefined ? [] : [[index + 1, gas]])))
    const plain = (await executeRefunded({ accounts }, transactions)).execution.finish()
    const verified = (await executeRefunded({ accounts }, transactions, given)).execution.finish()
    expect(plain.gasUsed - verified.gasUsed).toBe(2n * refund)
  })

  it('covers both surcharges of a call to an account with a delegate', async () => {
    const accounts = {
      ...FUNDED,
      [CONTRACT]: { code: CODES.CALL },
      [DELEGATED]: { code: `0xef0100${DELEGATE.slice(2)}` as Hex },
    }
    const data = word(DELEGATED)
    expect(await executeWarming({ accounts }, [call(1, data), call(2, data)])).toEqual([undefined, 5_000n])
  })

  it("is zero for the transaction's own sender, recipient and access list", async () => {
    const accounts = { ...FUNDED, [CONTRACT]: { code: CODES.BALANCE } }
    const ofSender = await executeWarming({ accounts }, [
      call(1, word(TWO)),
      call(2, word(TWO)),
      call(3, word(CONTRACT)),
    ])
    expect(ofSender).toEqual([undefined, undefined, undefined])
    const listed = { ...call(2, word(OTHER)), accessList: [{ address: OTHER, storageKeys: [] }] }
    expect(await executeWarming({ accounts }, [call(1, word(OTHER)), listed])).toEqual([undefined, undefined])
    // The access list of an earlier transaction warms its entries for later transactions.
    const [, , later] = await executeWarming({ accounts }, [call(1, word(TWO)), listed, call(3, word(OTHER))])
    expect(later).toBe(2_500n)
  })

  it('counts accesses that deposits have warmed, and refunds no deposit', async () => {
    const accounts = { ...FUNDED, [CONTRACT]: { code: CODES.SLOAD } }
    const data = word(SLOT)
    const warming = deposit({ to: CONTRACT, data })
    expect(await executeWarming({ accounts }, [warming, warming, call(1, data)])).toEqual([
      undefined,
      undefined,
      2_000n,
    ])
  })

  it('counts the fee vaults as warmed by transactions, but not by deposits', async () => {
    const accounts = { ...FUNDED, [CONTRACT]: { code: CODES.BALANCE } }
    const data = word(BASE_FEE_VAULT_ADDRESS)
    const afterDeposit = await executeWarming({ accounts }, [deposit(), call(1, data)])
    expect(afterDeposit).toEqual([undefined, undefined])
    const transfer = signTransaction(testKey(1))
    expect(await executeWarming({ accounts }, [transfer, call(2, data)])).toEqual([undefined, 2_500n])
  })

  it('covers each surcharge paid in failed frames, and counts their accesses as warmed', async () => {
    // INNER loads a slot and reverts. CONTRACT calls it twice and pays for the slot twice.
    const callInner = `5f5f5f5f5f73${INNER.slice(2)}5af150`
    const accounts = {
      ...FUNDED,
      [INNER]: { code: '0x6005545f5ffd' as Hex },
      [CONTRACT]: { code: `0x${callInner}${callInner}00` as Hex },
    }
    const nothing = new Uint8Array()
    const refunds = await executeWarming({ accounts }, [call(1, nothing), call(2, nothing)])
    expect(refunds).toEqual([undefined, 2_500n + 2n * 2_000n])
  })

  it('is zero for an access that ran out of gas', async () => {
    // CONTRACT calls INNER with 1,000 gas: too little to load a slot.
    const accounts = {
      ...FUNDED,
      [INNER]: { code: '0x6005545000' as Hex },
      [CONTRACT]: { code: `0x5f5f5f5f5f73${INNER.slice(2)}6103e8f15000` as Hex },
    }
    const nothing = new Uint8Array()
    const transactions = [call(1, nothing, INNER), call(2, nothing), call(3, nothing)]
    // The access of the call itself is paid.
    expect(await executeWarming({ accounts }, transactions)).toEqual([undefined, 2_500n, 2_500n])
  })

  it('is at most the gas used, and ignores transactions that were not included', () => {
    const warmed: Warmed = new Map()
    let index = 0
    const run = () => {
      const substate = new Substate()
      const watched = new WatchedTransaction(warmed, substate, index++)
      if (substate.warmAddress(OTHER)) substate.onColdPaid?.(OTHER, undefined, 2_500)
      return watched
    }
    expect(run().refundOf(21_000n)).toBe(0n)
    const kept = run()
    expect(kept.refundOf(21_000n)).toBe(0n)
    kept.keep({ paysFees: true })
    expect(run().refundOf(21_000n)).toBe(2_500n)
    expect(run().refundOf(2_400n)).toBe(2_400n)
  })
})
