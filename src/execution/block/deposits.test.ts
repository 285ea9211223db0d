import { describe, expect, it } from 'vitest'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { BASE_FEE_VAULT_ADDRESS, L1_FEE_VAULT_ADDRESS } from '../../rollup/protocol/index.ts'
import { COINBASE, createMemoryBlock, deposit } from '../testUtils/memoryBlock.ts'
import { createAddress } from '../tx/createAddress.ts'

// specs: deposits, "Execution"; regolith, "Overview".

const SENDER: Hex = `0x${'33'.repeat(20)}`
const RECIPIENT: Hex = `0x${'44'.repeat(20)}`
/** Reverts with empty data: PUSH0 PUSH0 REVERT. */
const REVERTING: Hex = '0x5f5ffd'

describe('a deposit', () => {
  it('mints and transfers without a fee', async () => {
    const { execution, world } = createMemoryBlock({})
    const outcome = await execution.add(deposit({ mint: 1000n, value: 7n }))
    expect(outcome).toMatchObject({ status: 1, gasUsed: 21_000n, tip: 0n, depositNonce: 0 })
    expect(world.balance(SENDER)).toBe(993n)
    expect(world.balance(RECIPIENT)).toBe(7n)
    expect(world.nonce(SENDER)).toBe(1n)
    for (const vault of [COINBASE, BASE_FEE_VAULT_ADDRESS, L1_FEE_VAULT_ADDRESS]) {
      expect(world.account(vault)).toBeUndefined()
    }
  })

  it.each([
    { id: 'value above the balance', fields: { mint: 5n, value: 6n }, balance: 5n, reason: 'insufficient funds' },
    { id: 'too little gas to start', fields: { mint: 5n, gasLimit: 20_999n }, balance: 5n, reason: 'intrinsic gas' },
    {
      id: 'init code over the limit',
      fields: { mint: 5n, to: null, data: new Uint8Array(49_153), gasLimit: 5_000_000n },
      balance: 5n,
      reason: 'initcode',
    },
    {
      id: 'a system transaction after Regolith',
      fields: { mint: 5n, isSystemTx: true },
      balance: 5n,
      reason: 'system',
    },
  ])('with $id fails, keeps the mint, uses all its gas and a nonce', async ({ fields, balance, reason }) => {
    const { execution, world } = createMemoryBlock({ accounts: { [SENDER]: { nonce: 4n } } })
    const tx = deposit(fields)
    const outcome = await execution.add(tx)
    expect(outcome).toMatchObject({ status: 0, gasUsed: tx.gasLimit, depositNonce: 4, logs: [] })
    expect(outcome.failure).toContain(reason)
    expect(world.balance(SENDER)).toBe(balance)
    expect(world.nonce(SENDER)).toBe(5n)
    expect(execution.gasLeft).toBe(30_000_000n - tx.gasLimit)
  })

  it('that reverts uses only the gas that it spent, and keeps mint and nonce', async () => {
    const { execution, world } = createMemoryBlock({ accounts: { [RECIPIENT]: { code: REVERTING } } })
    const outcome = await execution.add(deposit({ mint: 9n, value: 9n }))
    expect(outcome).toMatchObject({ status: 0, gasUsed: 21_004n, failure: 'execution reverted' })
    expect(world.balance(SENDER)).toBe(9n)
    expect(world.nonce(SENDER)).toBe(1n)
    expect(execution.gasLeft).toBe(30_000_000n - 21_004n)
  })

  it('creates a contract at the address of the nonce before its execution', async () => {
    const { execution, world } = createMemoryBlock({ accounts: { [SENDER]: { nonce: 3n } } })
    // Returns one zero byte as code: PUSH1 1 PUSH0 RETURN.
    await execution.add(deposit({ to: null, data: fromHex('0x60015ff3') }))
    expect(toHex(world.code(createAddress(fromHex(SENDER), 3n)))).toBe('0x00')
    expect(world.nonce(SENDER)).toBe(4n)
  })

  it('sees itself as origin and caller, at gas price zero', async () => {
    // SSTORE(0, ORIGIN) SSTORE(1, CALLER) SSTORE(2, GASPRICE + 1)
    const code: Hex = ('0x325f55336001556001' + '3a01600255') as Hex
    const { execution, world } = createMemoryBlock({ accounts: { [RECIPIENT]: { code } } })
    expect((await execution.add(deposit({ gasLimit: 200_000n }))).status).toBe(1)
    const slot = (index: number) => toHex(world.storage(RECIPIENT, `0x${index.toString(16).padStart(64, '0')}`))
    expect([slot(0), slot(1), slot(2)]).toEqual([SENDER, SENDER, '0x01'])
  })

  it('cannot use more gas than the block has left', async () => {
    const { execution } = createMemoryBlock({ block: { gasLimit: 150_000n } })
    await execution.add(deposit({ gasLimit: 100_000n, value: 1n }))
    await expect(execution.add(deposit({ gasLimit: 100_000n }))).rejects.toMatchObject({
      code: 'invalid-transaction',
      message: expect.stringContaining('gas limit reached'),
    })
  })
})

describe('before Regolith', () => {
  it('a deposit uses all its gas, and its receipt has no nonce', async () => {
    const { execution } = createMemoryBlock({ fork: 'bedrock' })
    const outcome = await execution.add(deposit({}))
    expect(outcome).toMatchObject({ status: 1, gasUsed: 100_000n })
    expect(outcome).not.toHaveProperty('depositNonce')
  })

  it('a system transaction runs, and does not count towards the gas of the block', async () => {
    const { execution, world } = createMemoryBlock({ fork: 'bedrock', block: { gasLimit: 50_000n } })
    const outcome = await execution.add(deposit({ mint: 3n, value: 3n, isSystemTx: true, gasLimit: 1_000_000n }))
    expect(outcome).toMatchObject({ status: 1, gasUsed: 0n })
    expect(world.balance(RECIPIENT)).toBe(3n)
    expect(execution.gasLeft).toBe(50_000n)
  })
})

describe('receipts of deposits', () => {
  it.each([
    { fork: 'bedrock' as const, expected: {} },
    { fork: 'regolith' as const, expected: { depositNonce: 0 } },
    { fork: 'canyon' as const, expected: { depositNonce: 0, depositReceiptVersion: 1 } },
  ])('have the members that $fork requires', async ({ fork, expected }) => {
    const { execution } = createMemoryBlock({ fork })
    await execution.add(deposit({}))
    const { depositNonce, depositReceiptVersion } = execution.finish().receipts[0] ?? {}
    expect({ depositNonce, depositReceiptVersion }).toEqual({
      depositNonce: undefined,
      depositReceiptVersion: undefined,
      ...expected,
    })
  })
})
