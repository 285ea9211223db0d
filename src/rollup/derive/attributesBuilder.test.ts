import { describe, expect, it } from 'vitest'
import { bigIntToBytes, concatBytes } from '../../lib/bytes.ts'
import { type Hex, toHex } from '../../lib/hex.ts'
import {
  CONFIG_UPDATE_TOPIC,
  decodeDepositTx,
  encodeEip1559Params,
  l1InfoOfTransactions,
  TRANSACTION_DEPOSITED_TOPIC,
  upgradeDepositsOf,
  userDepositSourceHash,
} from '../protocol/index.ts'
import { FORKS, type L1Log, type RollupConfig, ZERO_HASH } from '../protocol/types.ts'
import { createAttributesBuilder } from './attributesBuilder.ts'
import { DEPOSIT_CONTRACT, fakeHash, GENESIS_TIME, SYSTEM_CONFIG_CONTRACT, testConfig } from './testUtils/config.ts'
import { FakeL1, FakeL2 } from './testUtils/miniChain.ts'

const ALICE: Hex = `0x${'a1'.repeat(20)}`

function depositLog(change: Partial<L1Log> = {}): Omit<L1Log, 'logIndex'> {
  const address = toHex(bigIntToBytes(BigInt(ALICE), 32))
  const opaque = [...bigIntToBytes(5n, 32), ...bigIntToBytes(3n, 32), ...bigIntToBytes(21_000n, 8), 0]
  const padded = [...opaque, ...new Uint8Array(96 - opaque.length)]
  return {
    address: DEPOSIT_CONTRACT,
    topics: [TRANSACTION_DEPOSITED_TOPIC, address, address, ZERO_HASH],
    data: Uint8Array.from([...bigIntToBytes(32n, 32), ...bigIntToBytes(BigInt(opaque.length), 32), ...padded]),
    ...change,
  }
}

function setUp(fork: Parameters<typeof testConfig>[0], overrides: Partial<RollupConfig> = {}) {
  const l1 = new FakeL1()
  const l2 = new FakeL2(testConfig(fork, overrides))
  return { l1, l2, builder: createAttributesBuilder({ l1, l2 }, l2.config) }
}

const id = (number: number, fork = 'l1') => ({ number, hash: fakeHash(fork, number) })

describe('attributes of the next block', () => {
  it('of the same epoch hold the L1 info alone', async () => {
    const { l1, l2, builder } = setUp('holocene')
    const attributes = await builder.prepare(l2.head, id(0))
    const info = l1.blocks[0]?.info
    expect(attributes).toMatchObject({
      timestamp: GENESIS_TIME + 2,
      prevRandao: info?.mixHash,
      suggestedFeeRecipient: '0x4200000000000000000000000000000000000011',
      noTxPool: true,
      gasLimit: 30_000_000n,
      withdrawals: [],
      parentBeaconBlockRoot: info?.parentBeaconBlockRoot,
      eip1559Params: '0x0000000000000000',
    })
    expect(attributes).not.toHaveProperty('minBaseFee')
    expect(attributes.transactions).toHaveLength(1)
    const first = l1InfoOfTransactions(attributes.transactions)
    expect(first).toMatchObject({ number: 0, sequenceNumber: 1, blockHash: info?.hash, baseFee: 7n })
  })

  it('of a new epoch hold the user deposits of its L1 block', async () => {
    const { l1, l2, builder } = setUp('granite')
    l1.add({ logs: [{ ...depositLog(), address: ALICE }, depositLog(), depositLog()], time: 2 })
    const { transactions } = await builder.prepare(l2.head, id(1))
    expect(l1InfoOfTransactions(transactions)).toMatchObject({ number: 1, sequenceNumber: 0 })
    const deposits = transactions.slice(1).map(decodeDepositTx)
    expect(deposits).toEqual(
      [1, 2].map((logIndex) => ({
        sourceHash: userDepositSourceHash(fakeHash('l1', 1), logIndex),
        from: ALICE,
        to: ALICE,
        mint: 5n,
        value: 3n,
        gas: 21_000n,
        isSystemTx: false,
        data: new Uint8Array(0),
      })),
    )
    l2.build(await builder.prepare(l2.head, id(1)))
    expect((await builder.prepare(l2.head, id(1))).transactions).toHaveLength(1)
  })

  it.each([
    { fork: 'bedrock', members: [] },
    { fork: 'regolith', members: [] },
    { fork: 'canyon', members: ['withdrawals'] },
    { fork: 'ecotone', members: ['withdrawals', 'parentBeaconBlockRoot'] },
    { fork: 'granite', members: ['withdrawals', 'parentBeaconBlockRoot'] },
    { fork: 'holocene', members: ['withdrawals', 'parentBeaconBlockRoot', 'eip1559Params'] },
    { fork: 'isthmus', members: ['withdrawals', 'parentBeaconBlockRoot', 'eip1559Params'] },
    { fork: 'jovian', members: ['withdrawals', 'parentBeaconBlockRoot', 'eip1559Params', 'minBaseFee'] },
  ] as const)('have the members of $fork', async ({ fork, members }) => {
    const { l2, builder } = setUp(fork)
    const attributes = await builder.prepare(l2.head, id(0))
    const all = ['withdrawals', 'parentBeaconBlockRoot', 'eip1559Params', 'minBaseFee'] as const
    expect(all.filter((name) => attributes[name] !== undefined)).toEqual(members)
  })

  it('take the fee parameters of the SystemConfig', async () => {
    const eip1559Params = encodeEip1559Params({ denominator: 50, elasticity: 3 })
    const base = testConfig('jovian')
    const systemConfig = { ...base.genesis.systemConfig, eip1559Params, minBaseFee: 99n }
    const { l2, builder } = setUp('jovian', { genesis: { ...base.genesis, systemConfig } })
    expect(await builder.prepare(l2.head, id(0))).toMatchObject({ eip1559Params, minBaseFee: 99n })
  })

  it('take a zero beacon root where the L1 block has none', async () => {
    const { l1, l2, builder } = setUp('ecotone')
    const genesis = l1.blocks[0]
    if (genesis !== undefined) delete genesis.info.parentBeaconBlockRoot
    expect((await builder.prepare(l2.head, id(0))).parentBeaconBlockRoot).toBe(`0x${'00'.repeat(32)}`)
  })

  it.each(['ecotone', 'fjord', 'isthmus', 'jovian', 'karst'] as const)(
    'of the activation block of %s end with the deposits of the upgrade',
    async (fork) => {
      const before = FORKS.slice(0, FORKS.indexOf(fork)).map((name) => [name, 0])
      const forks = { ...Object.fromEntries(before), [fork]: GENESIS_TIME + 2 }
      const { l1, l2, builder } = setUp(fork, { forks })
      l1.add({ logs: [depositLog()], time: 1 })
      const attributes = await builder.prepare(l2.head, id(1))
      const [, user, ...upgrades] = attributes.transactions.map(decodeDepositTx)
      expect(user?.sourceHash).toBe(userDepositSourceHash(fakeHash('l1', 1), 0))
      expect(upgrades).toEqual(upgradeDepositsOf(fork))
      l2.build(attributes)
      expect((await builder.prepare(l2.head, id(1))).transactions).toHaveLength(1)
    },
  )

  it.each([
    { keepKarstUpgradeGas: undefined, after: 30_000_000n },
    { keepKarstUpgradeGas: true, after: 85_370_657n },
  ])(
    "raise the gas limit in Karst's activation block; with keep $keepKarstUpgradeGas it is $after later",
    async (chain) => {
      const { keepKarstUpgradeGas, after } = chain
      const forks = { ...testConfig('jovian').forks, karst: GENESIS_TIME + 4 }
      const { l2, builder } = setUp('jovian', { forks, ...(keepKarstUpgradeGas ? { keepKarstUpgradeGas } : {}) })
      const limits: bigint[] = []
      for (let number = 1; number <= 4; number++) {
        const attributes = await builder.prepare(l2.head, id(0))
        expect(attributes.noTxPool).toBe(true)
        limits.push(attributes.gasLimit)
        l2.build(attributes)
      }
      expect(limits).toEqual([30_000_000n, 85_370_657n, after, after])
    },
  )

  it("take a gas limit that L1 sets with Karst's first epoch as it stands, and a raise on top of it", async () => {
    const forks = { ...testConfig('jovian').forks, karst: GENESIS_TIME + 2 }
    const { l1, l2, builder } = setUp('jovian', { forks })
    const word = (value: bigint) => bigIntToBytes(value, 32)
    const topics = [CONFIG_UPDATE_TOPIC, ZERO_HASH, toHex(word(2n))]
    const data = concatBytes(word(32n), word(32n), word(40_000_000n))
    l1.add({ logs: [{ address: SYSTEM_CONFIG_CONTRACT, topics, data }], time: 1 })
    const attributes = await builder.prepare(l2.head, id(1))
    expect(attributes.gasLimit).toBe(95_370_657n)
    l2.build(attributes)
    expect((await builder.prepare(l2.head, id(1))).gasLimit).toBe(40_000_000n)
  })

  it.each([
    { id: 'the L1 block of the epoch is gone', epoch: id(7, 'gone'), code: 'l1-reorg' },
    { id: 'the same L1 block has another hash', epoch: id(0, 'fork'), code: 'pipeline-mismatch' },
    { id: 'the new epoch does not follow the old', epoch: id(1, 'fork'), code: 'pipeline-mismatch' },
    { id: 'L2 would lie before L1', epoch: id(1), code: 'pipeline-mismatch' },
  ])('request a reset when $id', async ({ epoch, code }) => {
    const { l1, l2, builder } = setUp('holocene')
    l1.add()
    const forked = new FakeL1()
    forked.blocks = []
    forked.add({ fork: 'fork' }).add({ fork: 'fork', time: 1 })
    l1.blocks.push(...forked.blocks)
    await expect(builder.prepare(l2.head, epoch)).rejects.toMatchObject({ code, severity: 'reset' })
  })

  it('request a reset when the L1 block of the epoch that goes on is gone, and name the cause when L1 gave one', async () => {
    const { l1, l2, builder } = setUp('holocene')
    l1.rewindTo(-1)
    await expect(builder.prepare(l2.head, id(0))).rejects.toMatchObject({ code: 'l1-reorg', severity: 'reset' })
    const cause = { code: 'l1-not-found' }
    await expect(builder.prepare(l2.head, id(7))).rejects.toMatchObject({ code: 'l1-reorg', cause })
  })

  it('stop at a deposit that cannot be decoded', async () => {
    const { l1, l2, builder } = setUp('holocene')
    l1.add({ logs: [depositLog({ data: new Uint8Array(64) })], time: 1 })
    await expect(builder.prepare(l2.head, id(1))).rejects.toMatchObject({ severity: 'critical' })
  })
})
