import { describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { until } from '../../lib/testUtils/until.ts'
import { encodeBlob } from '../../rollup/protocol/index.ts'
import type { SubmitterL1 } from '../l1/submitterL1.ts'
import {
  automine,
  createManager,
  data,
  log,
  mine,
  never,
  rpc,
  signer,
  txByHash,
  useL1,
} from '../testUtils/txManagerInTest.ts'

useL1()

/** An L1 whose next fork requires `floor` gas, from the start or after `begins`. */
function withFloor(floor: bigint, begins: () => boolean = () => true): (l1: SubmitterL1) => SubmitterL1 {
  return (l1) => ({
    ...l1,
    estimateGas: (call, signal) => (begins() ? Promise.resolve(floor) : l1.estimateGas(call, signal)),
    async sendRawTransaction(raw, signal) {
      // The only number of three bytes in such a short transaction.
      const [, gas = '0'] = /83([0-9a-f]{6})94/.exec(Buffer.from(raw).toString('hex')) ?? ['', '0']
      if (begins() && BigInt(`0x${gas}`) < floor)
        throw new JsonRpcError(-32000, `gas below the floor: have ${BigInt(`0x${gas}`)}, want ${floor}`)
      await l1.sendRawTransaction(raw, signal)
    },
  })
}

describe('a transaction that the L1 cannot mine as it is', () => {
  it('is replaced with the required gas if the L1 refuses it', async () => {
    const receipt = await createManager({}, withFloor(100_000n)).send(data(1), never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ gas: '0x186a0', nonce: '0x0', input: '0x01' })
  })

  it('is replaced with the required gas if a fork raised the requirement after it was sent', async () => {
    await automine(false)
    let forked = false
    const manager = createManager(
      { rebroadcastIntervalMs: 50 },
      withFloor(100_000n, () => forked),
    )
    const sending = manager.send(data(1), never)
    await log.seen('Transaction successfully published')
    forked = true
    await until(() => manager.sending[0]?.bumps === 1)
    await log.seen('Transaction successfully published', 2)
    await mine()
    expect(await txByHash((await sending).transactionHash)).toMatchObject({ gas: '0x186a0', nonce: '0x0' })
  })

  it("is replaced with a lower gas limit if the L1's block limit is lower", async () => {
    const bytes = data(...new Array<number>(400).fill(1))
    // Enough for this L1's price (21,000 + 40 a byte), too little after its next fork.
    await rpc.request('evm_setBlockGasLimit', ['0x9470'])
    await mine()
    const receipt = await createManager({ retryIntervalMs: 20 }).send(bytes, never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ gas: '0x9088', nonce: '0x0' })
  })

  it('is reported, and its fees are not raised, if no L1 block can hold it', async () => {
    await automine(false)
    const manager = createManager({ retryIntervalMs: 20, notInMempoolTimeoutMs: 500 }, (l1) => ({
      ...l1,
      suggestFees: async (call, signal) => ({ ...(await l1.suggestFees(call, signal)), blockGasLimit: 21_000n }),
      sendRawTransaction: () => Promise.reject(new JsonRpcError(-32000, 'too large for a block')),
    }))
    const given = expect(manager.send(data(1), never)).rejects.toThrow(errorWith('tx-aborted', 'mempool'))
    await until(() => manager.sending[0]?.problem?.match(/21040.*21000/))
    await given
    expect(log.of('Bumping fees of transaction')).toEqual([])
  })

  it('is replaced beyond the fee limit when the base fee stays above its fee cap', async () => {
    await automine(false)
    const limits = { feeLimitMultiplier: 1n, feeLimitThresholdWei: 1n }
    const manager = createManager({ ...limits, resubmissionTimeoutMs: 200, rebroadcastIntervalMs: 50 })
    const sending = manager.send(data(7), never)
    await log.seen('Unable to bump the fees of the transaction')
    expect(manager.sending[0]?.problem).toContain('its fees cannot be raised')
    await rpc.request('anvil_setNextBlockBaseFeePerGas', ['0x174876e800'])
    await mine()
    const { reason } = await log.seen('The L1 cannot mine the transaction')
    expect(reason).toMatch(/100 gwei.*3 gwei/)
    await until(() => manager.sending[0]?.bumps === 1)
    await log.seen('Transaction successfully published', 2)
    await mine()
    expect((await sending).blockNumber).toBe(2)
  })

  it('is reported with the price that it cannot pay, until the resubmission timeout', async () => {
    await automine(false)
    // Like geth: its pool answers "already known" for transactions that it holds, whatever they cost now.
    const manager = createManager({ rebroadcastIntervalMs: 50 }, (l1) => ({
      ...l1,
      sendRawTransaction: (raw, signal) =>
        l1.sendRawTransaction(raw, signal).catch(() => {
          throw new JsonRpcError(-32000, 'already known')
        }),
    }))
    const sending = manager.send(data(7), never)
    await until(() => manager.sending[0]?.missedBlocks === 0)
    expect(manager.sending[0]?.problem).toBeUndefined()
    await rpc.request('anvil_setNextBlockBaseFeePerGas', ['0x174876e800'])
    await mine()
    await until(() => manager.sending[0]?.missedBlocks === 1 && manager.sending[0].problem?.match(/100 gwei.*3 gwei/))
    manager.close()
    await expect(sending).rejects.toMatchObject({ code: 'txmgr-closed' })
  })

  it('is replaced although the L1 estimates no gas', async () => {
    await automine(false)
    const manager = createManager({ resubmissionTimeoutMs: 100 }, (l1) => ({
      ...l1,
      estimateGas: () => Promise.reject(new JsonRpcError(-32000, 'missing trie node')),
    }))
    const sending = manager.send(data(1), never)
    await until(() => manager.sending[0]?.bumps === 1)
    await log.seen('Transaction successfully published', 2)
    await mine()
    await sending
  })

  it('ends if its nonce is used, whatever error text the L1 sends', async () => {
    const manager = createManager({ rebroadcastIntervalMs: 30 }, (l1) => ({
      ...l1,
      async sendRawTransaction(raw, signal) {
        await l1.sendRawTransaction(raw, signal).catch(() => {
          throw new JsonRpcError(-32000, 'OldNonce')
        })
      },
    }))
    await automine(false)
    const refused = expect(manager.send(data(1), never)).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
    await log.seen('Transaction successfully published')
    const other = createManager({ minTipCapWei: 9_000_000_000n, minBaseFeeWei: 9_000_000_000n }).send(data(7), never)
    await log.seen('Transaction successfully published', 2)
    await mine()
    await other
    await refused
    expect((await Promise.all([manager.send(data(2), never), mineUntilSent()]))[0]).toBeDefined()
  })

  it('is abandoned if the L1 has dropped it and refuses it', async () => {
    await automine(false)
    let refuses = false
    const manager = createManager({ rebroadcastIntervalMs: 50, notInMempoolTimeoutMs: 300 }, (l1) => ({
      ...l1,
      async sendRawTransaction(raw, signal) {
        if (refuses) throw new JsonRpcError(-32000, 'a rule that nobody knows yet')
        await l1.sendRawTransaction(raw, signal)
      },
    }))
    const sending = manager.send(data(1), never)
    await log.seen('Transaction successfully published')
    refuses = true
    await rpc.request('anvil_dropAllTransactions', [])
    await expect(sending).rejects.toThrow(errorWith('tx-aborted', 'mempool'))
  })

  it('is not abandoned while the L1 pool holds it', async () => {
    await automine(false)
    let refusals = 0
    const manager = createManager({ rebroadcastIntervalMs: 20, notInMempoolTimeoutMs: 100 }, (l1) => ({
      ...l1,
      async sendRawTransaction(raw, signal) {
        await l1.sendRawTransaction(raw, signal).catch(() => {
          refusals++
          throw new JsonRpcError(-32000, 'I have seen this one before')
        })
      },
    }))
    const sending = manager.send(data(1), never)
    await until(() => refusals > 20)
    await mine()
    expect((await sending).blockNumber).toBe(1)
  })
})

describe('a blob transaction', () => {
  const candidate = { ...data(), blobs: [encodeBlob(Uint8Array.of(1))] }
  /** geth 1.16 from Osaka on accepts cell proofs only. The version byte follows the signed transaction. */
  const asOsaka =
    (isActive: () => boolean) =>
    (l1: SubmitterL1): SubmitterL1 => ({
      ...l1,
      async sendRawTransaction(raw, signal) {
        // Cell proofs add 6 kB.
        if (isActive() && raw.length < 135_000) throw new JsonRpcError(-32000, 'invalid sidecar version post-osaka')
        await l1.sendRawTransaction(raw, signal)
      },
    })

  it.each([
    { id: 'when it is sent', before: false },
    { id: 'after it was sent', before: true },
  ])('changes to cell proofs if the L1 has activated Osaka $id', async ({ before }) => {
    await automine(false)
    let isOsaka = !before
    const manager = createManager(
      { rebroadcastIntervalMs: 100 },
      asOsaka(() => isOsaka),
    )
    const sending = manager.send(candidate, never)
    if (before) {
      await log.seen('Transaction successfully published')
      isOsaka = true
      await rpc.request('anvil_dropAllTransactions', [])
    }
    await log.seen('Transaction successfully published', before ? 2 : 1)
    await mine()
    const receipt = await sending
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ type: '0x3', nonce: '0x0', from: signer.address })
  })
})

async function mineUntilSent(): Promise<void> {
  await log.seen('Transaction successfully published', 3)
  await mine()
}
