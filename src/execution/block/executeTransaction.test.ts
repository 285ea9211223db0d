import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../lib/bytes.ts'
import { keccak256 } from '../../lib/hash.ts'
import { fromHex, type Hex, toHex } from '../../lib/hex.ts'
import { encodeRlp } from '../../lib/rlp.ts'
import { signHash } from '../../lib/secp256k1.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import {
  BASE_FEE_VAULT_ADDRESS,
  decodeSignedTransaction,
  L1_BLOCK_ADDRESS,
  L1_FEE_VAULT_ADDRESS,
  l1DataFee,
  OPERATOR_FEE_VAULT_ADDRESS,
} from '../../rollup/protocol/index.ts'
import { COINBASE, createMemoryBlock, deposit, type MemoryBlockOptions } from '../testUtils/memoryBlock.ts'
import { signTransaction, type TestTransaction, testAddress, testKey } from '../testUtils/signTransaction.ts'

const SENDER = testAddress(1)
const RECIPIENT: Hex = `0x${'44'.repeat(20)}`
const ETHER = 10n ** 18n

function blockWith(options: MemoryBlockOptions = {}) {
  return createMemoryBlock({ ...options, accounts: { [SENDER]: { balance: ETHER }, ...options.accounts } })
}

const transfer = (fields: TestTransaction = {}) =>
  signTransaction(testKey(1), { to: RECIPIENT, maxFeePerGas: 5_000n, maxPriorityFeePerGas: 100n, ...fields })

/** The parameters of L1_BLOCK_ACCOUNT. */
const L1_PARAMS = {
  baseFee: 1_000_000_000n,
  blobBaseFee: 10_000_000n,
  baseFeeScalar: 2,
  blobBaseFeeScalar: 3,
  overhead: 50n,
  scalar: 7_000_000n,
}

describe('a signed transaction', () => {
  it.each([
    { fork: 'bedrock' as const, formula: 'bedrock' as const, operatorFee: 0n },
    { fork: 'regolith' as const, formula: 'regolith' as const, operatorFee: 0n },
    { fork: 'ecotone' as const, formula: 'ecotone' as const, operatorFee: 0n },
    { fork: 'fjord' as const, formula: 'fjord' as const, operatorFee: 0n },
    // 21,000 · 5,000,000 / 10^6 + 77
    { fork: 'isthmus' as const, formula: 'fjord' as const, operatorFee: 105_077n },
    // Jovian multiplies by 100 instead of dividing.
    { fork: 'jovian' as const, formula: 'fjord' as const, operatorFee: 10_500_000_000_077n },
  ])(
    'pays tip, base fee, L1 fee and operator fee to their vaults under $fork',
    async ({ fork, formula, operatorFee }) => {
      const { execution, world } = blockWith({ fork })
      if (fork === 'jovian') await execution.add(jovianL1Info())
      const tx = transfer({ value: 5n })
      const outcome = await execution.add(tx)
      const l1Fee = l1DataFee(tx.raw, formula, L1_PARAMS).fee
      expect(l1Fee).toBeGreaterThan(0n)
      expect(outcome).toMatchObject({ status: 1, gasUsed: 21_000n, tip: 2_100_000n })
      expect(world.balance(COINBASE)).toBe(21_000n * 100n)
      expect(world.balance(BASE_FEE_VAULT_ADDRESS)).toBe(21_000n * 1_000n)
      expect(world.balance(L1_FEE_VAULT_ADDRESS)).toBe(l1Fee)
      expect(world.balance(OPERATOR_FEE_VAULT_ADDRESS)).toBe(operatorFee)
      expect(world.balance(RECIPIENT)).toBe(5n)
      expect(world.balance(SENDER)).toBe(ETHER - 5n - 21_000n * 1_100n - l1Fee - operatorFee)
      expect(world.nonce(SENDER)).toBe(1n)
    },
  )

  it('needs funds for gas at its fee cap, value and L1 fee, to the wei', async () => {
    const tx = transfer({ value: 5n })
    const l1Fee = l1DataFee(tx.raw, 'fjord', L1_PARAMS).fee
    const needed = 21_000n * 5_000n + 5n + l1Fee
    const short = blockWith({ accounts: { [SENDER]: { balance: needed - 1n } } })
    await expect(short.execution.add(tx)).rejects.toMatchObject({
      code: 'invalid-transaction',
      message: `insufficient funds for gas * price + value: address ${SENDER} have ${needed - 1n} want ${needed}`,
    })
    expect(short.world.balance(SENDER)).toBe(needed - 1n)
    const enough = blockWith({ accounts: { [SENDER]: { balance: needed } } })
    expect((await enough.execution.add(tx)).status).toBe(1)
  })

  it.each([
    { id: 'a used nonce', fields: {}, account: { nonce: 1n }, message: 'nonce too low' },
    { id: 'a future nonce', fields: { nonce: 2 }, account: { nonce: 1n }, message: 'nonce too high' },
    { id: 'a fee cap below the base fee', fields: { maxFeePerGas: 999n }, message: 'less than block base fee' },
    {
      id: 'a tip above its fee cap',
      fields: { maxFeePerGas: 2_000n, maxPriorityFeePerGas: 2_001n },
      message: 'higher than max fee per gas',
    },
    { id: 'too little gas to start', fields: { gasLimit: 20_999n }, message: 'intrinsic gas too low' },
    { id: 'more gas than the block has left', fields: { gasLimit: 30_000_001n }, message: 'gas limit reached' },
    { id: 'another chain', fields: { chainId: 902n }, message: 'invalid chain id' },
    { id: 'a contract as sender', fields: {}, account: { code: '0x00' as Hex }, message: 'sender not an eoa' },
    {
      id: 'init code over the limit',
      fields: { to: null, data: new Uint8Array(49_153), gasLimit: 10_000_000n },
      message: 'max initcode size exceeded',
    },
  ])('with $id is refused and changes nothing', async ({ fields, account = {}, message }) => {
    const { execution, world } = blockWith({ accounts: { [SENDER]: { balance: ETHER, ...account } } })
    const nonce = world.nonce(SENDER)
    await expect(execution.add(transfer(fields))).rejects.toMatchObject({
      code: 'invalid-transaction',
      message: expect.stringContaining(message),
    })
    expect(world.balance(SENDER)).toBe(ETHER)
    expect(world.nonce(SENDER)).toBe(nonce)
    expect(execution.gasLeft).toBe(30_000_000n)
  })

  it('gets back at most a fifth of its gas for cleared storage', async () => {
    // SSTORE(0, 0), with 1 there before: 21,000 + 2 + 3 + 2,100 + 2,900 − refund 4,800
    const cleared = blockWith({ accounts: { [RECIPIENT]: { code: '0x5f5f55', storage: { 0: 1n } } } })
    const { gasUsed } = await cleared.execution.add(transfer({ gasLimit: 100_000n }))
    expect(gasUsed).toBe(26_004n - 4_800n)
    // The same for two slots would refund 9,600 of 31,008: the cap of a fifth applies.
    const code: Hex = '0x5f5f555f600155'
    const capped = blockWith({ accounts: { [RECIPIENT]: { code, storage: { 0: 1n, 1: 1n } } } })
    const used = 21_000n + 2n * 5_000n + 3n * 2n + 3n
    expect((await capped.execution.add(transfer({ gasLimit: 100_000n }))).gasUsed).toBe(used - used / 5n)
  })

  it('pays at least the calldata floor from Isthmus on (EIP-7623)', async () => {
    const data = new Uint8Array(1000).fill(1)
    const before = blockWith({ fork: 'holocene' })
    expect((await before.execution.add(transfer({ data, gasLimit: 100_000n }))).gasUsed).toBe(21_000n + 16_000n)
    const after = blockWith({ fork: 'isthmus' })
    expect((await after.execution.add(transfer({ data, gasLimit: 100_000n }))).gasUsed).toBe(21_000n + 40_000n)
    await expect(after.execution.add(transfer({ nonce: 1, data, gasLimit: 60_999n }))).rejects.toThrow('floor data gas')
  })

  it('keeps fees and nonce when it reverts, and loses its logs', async () => {
    // LOG0(0, 0) REVERT(0, 0)
    const { execution, world } = blockWith({ accounts: { [RECIPIENT]: { code: '0x5f5fa05f5ffd' } } })
    const outcome = await execution.add(transfer({ value: 5n, gasLimit: 100_000n }))
    expect(outcome).toMatchObject({ status: 0, failure: 'execution reverted', logs: [] })
    expect(outcome.gasUsed).toBe(21_000n + 2n + 2n + 375n + 2n + 2n)
    expect(world.balance(RECIPIENT)).toBe(0n)
    expect(world.nonce(SENDER)).toBe(1n)
  })
})

describe('a set-code transaction (EIP-7702)', () => {
  const authority = testAddress(2)
  const delegate: Hex = `0x${'55'.repeat(20)}`
  // SSTORE(0, CALLER)
  const delegateCode: Hex = '0x335f55'

  function setCode({ chainId = 901n, nonce = 0n, address = delegate } = {}) {
    const authorization = [chainId, fromHex(address), nonce]
    const signed = signHash(keccak256(concatBytes(Uint8Array.of(5), encodeRlp(authorization))), testKey(2))
    const list = [[...authorization, signed.yParity, signed.r, signed.s]]
    const body = [901n, 0, 100n, 5_000n, 500_000n, fromHex(authority), 0n, new Uint8Array(), [], list]
    const { r, s, yParity } = signHash(keccak256(concatBytes(Uint8Array.of(4), encodeRlp(body))), testKey(1))
    return decodeSignedTransaction(concatBytes(Uint8Array.of(4), encodeRlp([...body, yParity, r, s])))
  }

  it('runs the delegate’s code in the authority’s storage', async () => {
    const { execution, world } = blockWith({ fork: 'isthmus', accounts: { [delegate]: { code: delegateCode } } })
    expect((await execution.add(setCode())).status).toBe(1)
    expect(toHex(world.code(authority))).toBe(`0xef0100${delegate.slice(2)}`)
    expect(world.nonce(authority)).toBe(1n)
    expect(toHex(world.storage(authority, `0x${'00'.repeat(32)}`))).toBe(SENDER)
  })

  it('refunds the authority’s creation when it exists already', async () => {
    const fresh = blockWith({ fork: 'isthmus' })
    const { gasUsed } = await fresh.execution.add(setCode())
    const known = blockWith({ fork: 'isthmus', accounts: { [authority]: { balance: 1n } } })
    const refunded = await known.execution.add(setCode())
    // The refund would be 12,500, but the cap is a fifth.
    expect(gasUsed - refunded.gasUsed).toBe(gasUsed / 5n)
  })

  it.each([
    { id: 'of another chain', authorization: { chainId: 902n } },
    { id: 'with another nonce', authorization: { nonce: 1n } },
  ])('skips an authorization $id', async ({ authorization }) => {
    const { execution, world } = blockWith({ fork: 'isthmus', accounts: { [delegate]: { code: delegateCode } } })
    expect((await execution.add(setCode(authorization))).status).toBe(1)
    expect(world.account(authority)).toBeUndefined()
  })

  it('removes a delegation with the zero address', async () => {
    const code: Hex = `0xef0100${delegate.slice(2)}`
    const { execution, world } = blockWith({ fork: 'isthmus', accounts: { [authority]: { code, balance: 1n } } })
    await execution.add(setCode({ address: `0x${'00'.repeat(20)}` }))
    expect(world.code(authority).length).toBe(0)
  })

  it('is decoded without recovering its signers', () => {
    const [entry] = setCode().authorizationList ?? []
    // A second object would have recovered its own signer.
    expect(Object.keys(entry ?? {})).not.toContain('authority')
    expect(entry?.authority).toBe(authority)
  })

  it('is refused before Isthmus', async () => {
    const { execution } = blockWith({ fork: 'holocene' })
    await expect(execution.add(setCode())).rejects.toThrow('transaction type not supported')
  })
})

/** An L1-info deposit in Jovian's form (178 bytes). L1Block has no code here, so the deposit changes nothing. */
function jovianL1Info(scalar = 400) {
  const data = new Uint8Array(178)
  data.set(fromHex('0x3db6be2b'))
  new DataView(data.buffer).setUint16(176, scalar)
  return deposit({ to: L1_BLOCK_ADDRESS, data, gasLimit: 1_000_000n })
}

describe('the cap on the gas of a transaction (Karst)', () => {
  const block = { gasLimit: 60_000_000n }
  const CAP = 16_777_216n

  it('applies to signed transactions', async () => {
    for (const fork of ['jovian', 'karst'] as const) {
      const { execution } = blockWith({ fork, block })
      await execution.add(jovianL1Info())
      expect((await execution.add(transfer({ gasLimit: CAP }))).status).toBe(1)
      const over = execution.add(transfer({ nonce: 1, gasLimit: CAP + 1n }))
      if (fork === 'jovian') expect((await over).status).toBe(1)
      else {
        await expect(over).rejects.toMatchObject({
          code: 'invalid-transaction',
          message: 'transaction gas limit too high (cap: 16777216, tx: 16777217)',
        })
      }
    }
  })

  it('does not apply to deposits', async () => {
    const { execution } = blockWith({ fork: 'karst', block })
    expect((await execution.add(deposit({ gasLimit: 40_000_000n }))).status).toBe(1)
  })
})

describe('an activation block', () => {
  const L1_INFO = jovianL1Info()

  it.each([
    { fork: 'isthmus' as const, before: 'holocene' as const, forbidden: undefined },
    { fork: 'jovian' as const, before: 'isthmus' as const, forbidden: 'Jovian' },
    { fork: 'karst' as const, before: 'jovian' as const, forbidden: 'Karst' },
    { fork: 'lagoon' as const, before: 'karst' as const, forbidden: 'Lagoon' },
  ])(
    'of $fork accepts signed transactions, unless the fork forbids them ($forbidden)',
    async ({ fork, before, forbidden }) => {
      for (const isActivation of [true, false]) {
        const { execution, config } = blockWith({ fork: before })
        config.forks[fork] = execution.env.block.timestamp
        const timestamp = execution.env.block.timestamp - (isActivation ? 2 : 0)
        await execution.begin({ parent: { hash: L1_INFO.hash, timestamp } }, [])
        await execution.add(L1_INFO)
        const isRefused = isActivation && forbidden !== undefined
        expect(execution.mayTake(transfer())).toBe(!isRefused)
        const added = execution.add(transfer())
        if (isRefused) await expect(added).rejects.toThrow(`non-deposit transactions in ${forbidden} activation block`)
        else expect((await added).status).toBe(1)
      }
    },
  )
})

describe('the DA footprint (Jovian)', () => {
  it('counts at least 100 bytes per transaction, times the scalar', async () => {
    const { execution } = blockWith({ fork: 'jovian' })
    await execution.add(jovianL1Info(400))
    await execution.add(transfer())
    await execution.add(transfer({ nonce: 1 }))
    expect(execution.finish().daFootprint).toBe(2n * 100n * 400n)
  })

  it('is limited by the gas limit when a block is filled', async () => {
    const { execution } = blockWith({ fork: 'jovian', block: { gasLimit: 1_079_999n } })
    await execution.add(jovianL1Info(10_000))
    expect(execution.mayTake(transfer())).toBe(true)
    await execution.add(transfer())
    expect(execution.mayTake(transfer({ nonce: 1 }))).toBe(false)
  })

  it('allows no signed transaction in the activation block, which has an Isthmus L1-info deposit', async () => {
    const data = new Uint8Array(176)
    data.set(fromHex('0x098999be'))
    const { execution } = blockWith({ fork: 'jovian' })
    await execution.add(deposit({ to: L1_BLOCK_ADDRESS, data }))
    expect(execution.mayTake(transfer())).toBe(false)
    await expect(execution.add(transfer())).rejects.toThrow('non-deposit transactions in Jovian activation block')
    expect(execution.finish().daFootprint).toBe(0n)
  })

  it.each([
    { id: 'of Isthmus, in the activation block', bytes: 176, isGood: true },
    { id: 'of Jovian', bytes: 178, isGood: true },
    { id: 'one byte short', bytes: 177, isGood: false },
    { id: 'empty', bytes: 0, isGood: false },
  ])('checks a block that holds only L1 info $id', async ({ bytes, isGood }) => {
    const { execution } = blockWith({ fork: 'jovian' })
    expect(() => execution.checkL1Info()).toThrow('missing deposit transaction')
    await execution.add(deposit({ to: L1_BLOCK_ADDRESS, data: new Uint8Array(bytes) }))
    if (isGood) execution.checkL1Info()
    else expect(() => execution.checkL1Info()).toThrow(errorWith('invalid-block', bytes))
  })

  it('needs an L1-info deposit first', async () => {
    const { execution } = blockWith({ fork: 'jovian' })
    await expect(execution.add(transfer())).rejects.toThrow('missing deposit transaction')
  })
})

describe('the ether supply', () => {
  const account = fc.integer({ min: 1, max: 4 })
  const step = fc.oneof(
    fc.record({ kind: fc.constant('transfer' as const), from: account, to: account, value: fc.bigInt(0n, 3n * ETHER) }),
    fc.record({ kind: fc.constant('create' as const), from: account, value: fc.bigInt(0n, ETHER) }),
    fc.record({
      kind: fc.constant('deposit' as const),
      from: account,
      to: account,
      mint: fc.bigInt(0n, ETHER),
      value: fc.bigInt(0n, 2n * ETHER),
      gasLimit: fc.constantFrom(20_000n, 21_000n, 100_000n),
    }),
  )

  it('grows only by mints, whichever transactions fail', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('granite' as const, 'isthmus' as const),
        fc.array(step, { maxLength: 12 }),
        async (fork, steps) => {
          const accounts = Object.fromEntries([1, 2, 3, 4].map((index) => [testAddress(index), { balance: ETHER }]))
          const { execution, world } = createMemoryBlock({ fork, accounts })
          const created: Hex[] = []
          let expected = 4n * ETHER
          for (const item of steps) {
            if (item.kind === 'deposit') {
              const { kind: _, from, to, ...fields } = item
              await execution.add(deposit({ ...fields, from: testAddress(from), to: testAddress(to) }))
              expected += item.mint
              continue
            }
            const from = testAddress(item.from)
            const to = item.kind === 'create' ? null : testAddress(item.to)
            // Init code that keeps the ether. It fails for odd values.
            const data =
              item.kind === 'create' ? fromHex(item.value % 2n === 0n ? '0x5f5ff3' : '0xfe') : new Uint8Array()
            const nonce = Number(world.nonce(from))
            const tx = signTransaction(testKey(item.from), { nonce, to, value: item.value, data, gasLimit: 60_000n })
            if (to === null) created.push(contractAddress(from, nonce))
            await execution
              .add(tx)
              .catch((error: unknown) => expect(error).toMatchObject({ code: 'invalid-transaction' }))
          }
          const vaults = [COINBASE, BASE_FEE_VAULT_ADDRESS, L1_FEE_VAULT_ADDRESS, OPERATOR_FEE_VAULT_ADDRESS]
          const holders = new Set<Hex>([...vaults, ...created, ...[1, 2, 3, 4].map(testAddress)])
          let total = 0n
          for (const holder of holders) total += world.balance(holder)
          expect(total).toBe(expected)
        },
      ),
      { numRuns: propertyRuns(100) },
    )
  })
})

function contractAddress(from: Hex, nonce: number): Hex {
  return toHex(keccak256(encodeRlp([fromHex(from), nonce])).subarray(12))
}
