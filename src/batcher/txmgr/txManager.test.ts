import { describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { ManualClock } from '../../lib/clock.ts'
import { quantityToNumber, toHex, toQuantity } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { until } from '../../lib/testUtils/until.ts'
import {
  automine,
  createManager,
  data,
  INBOX,
  leaveInPool,
  log,
  mine,
  never,
  rpc,
  signer,
  txByHash,
  useL1,
} from '../testUtils/txManagerInTest.ts'
import type { ForeignTx } from './foreignTx.ts'

async function blockInputs(number: number): Promise<string[]> {
  const block = (await rpc.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])) as {
    transactions: { input: string }[]
  }
  return block.transactions.map(({ input }) => input)
}

useL1()

describe('sending', () => {
  it('posts the data and resolves with the receipt', async () => {
    const receipt = await createManager().send(data(0, 1, 2), never)
    const tx = await txByHash(receipt.transactionHash)
    expect(tx).toMatchObject({ to: INBOX, input: '0x000102', from: signer.address, type: '0x2', value: '0x0' })
    // Anvil may still find the transaction in its pool, without a block.
    const block = await rpc.request('eth_getBlockByNumber', [toQuantity(receipt.blockNumber), false])
    expect(block).toMatchObject({ transactions: [receipt.transactionHash] })
  })

  it('requests the receipt at each new L1 head', async () => {
    await automine(false)
    const clock = new ManualClock()
    const options = { numConfirmations: 2, receiptQueryIntervalMs: 600_000, resubmissionTimeoutMs: 900_000 }
    const manager = createManager({ ...options, rebroadcastIntervalMs: 900_000 }, undefined, undefined, clock)
    const sending = manager.send(data(1), never)
    await log.seen('Transaction successfully published')
    const untilTrue = (probe: () => boolean) =>
      until(async () => {
        await clock.advance(100)
        return probe()
      })
    await mine()
    await untilTrue(() => manager.sending[0]?.minedIn === 1)
    await mine()
    await untilTrue(() => manager.sending.length === 0)
    expect((await sending).blockNumber).toBe(1)
    expect(clock.now()).toBeLessThan(options.receiptQueryIntervalMs)
  })

  it('waits for the configured confirmations', async () => {
    const manager = createManager({ numConfirmations: 3 })
    let confirmed = false
    const sending = manager.send(data(1), never).then((receipt) => {
      confirmed = true
      return receipt
    })
    await log.seen('Transaction is in a block')
    await mine()
    expect(confirmed).toBe(false)
    await mine()
    const receipt = await sending
    const head = quantityToNumber(await rpc.request('eth_blockNumber', []))
    expect(head - receipt.blockNumber).toBe(2)
  })

  it('gives nonces in the order of the calls', async () => {
    await automine(false)
    const manager = createManager()
    const sends = [1, 2, 3, 4, 5].map((value) => manager.send(data(value), never))
    await log.seen('Transaction successfully published', 5)
    await mine()
    const receipts = await Promise.all(sends)
    const txs = await Promise.all(receipts.map(({ transactionHash }) => txByHash(transactionHash)))
    expect(txs.map(({ nonce, input }) => [nonce, input])).toEqual(
      [1, 2, 3, 4, 5].map((value) => [toHex(Uint8Array.of(value - 1)).replace('0x0', '0x'), `0x0${value}`]),
    )
  })

  it('raises the fees when nothing is mined for the resubmission time', async () => {
    await automine(false)
    const sending = createManager({ resubmissionTimeoutMs: 150 }).send(data(7), never)
    const bump = await log.seen('Bumping fees of transaction', 2)
    await log.seen('Transaction successfully published', 3)
    await mine()
    const receipt = await sending
    const tx = await txByHash(receipt.transactionHash)
    expect(BigInt(tx.maxPriorityFeePerGas ?? 0)).toBeGreaterThanOrEqual(1_210_000_000n)
    expect(bump.nonce).toBe(0)
    expect(await blockInputs(receipt.blockNumber)).toEqual(['0x07'])
  })

  it('does not raise fees beyond the limit', async () => {
    await automine(false)
    const manager = createManager({ resubmissionTimeoutMs: 30, feeLimitMultiplier: 1n, feeLimitThresholdWei: 1n })
    const sending = manager.send(data(7), never)
    const refused = await log.seen('Unable to bump the fees of the transaction')
    expect(refused.err).toContain('--fee-limit-multiplier')
    expect(manager.sending[0]?.problem).toContain('its fees cannot be raised: the next tip cap')
    await mine()
    const tx = await txByHash((await sending).transactionHash)
    expect(BigInt(tx.maxPriorityFeePerGas ?? 0)).toBe(1_000_000_000n)
  })

  it('replaces a pending transaction that an earlier program left behind', async () => {
    await automine(false)
    await leaveInPool(data(1))

    const sending = createManager().send(data(2), never)
    await log.seen('Transaction is underpriced')
    await log.seen('Transaction successfully published', 2)
    await mine()
    const receipt = await sending
    expect(await blockInputs(receipt.blockNumber)).toEqual(['0x02'])
  })

  it('no longer shows a cancellation whose nonce was used meanwhile', async () => {
    await automine(false)
    await leaveInPool(data(1))

    let isBusy = true
    const manager = createManager({ rebroadcastIntervalMs: 50 }, (l1) => ({
      ...l1,
      // The pool also has a transaction of nonce 1, as it says.
      nonceAt: async (address, block, signal) => (block === 'pending' ? 2 : l1.nonceAt(address, block, signal)),
      sendRawTransaction: async (raw, signal) => {
        if (isBusy) throw new JsonRpcError(-32000, 'busy')
        await l1.sendRawTransaction(raw, signal)
      },
    }))
    const nonces = () => manager.sending.map(({ nonce }) => nonce).join()
    const cancelling = manager.cancelPending(never)
    await until(() => nonces() === '0,1')
    await mine()
    await until(() => nonces() === '1')
    isBusy = false
    await log.seen('Transaction successfully published', 2)
    await mine()
    await cancelling
    expect(nonces()).toBe('')
  })

  it('requests the nonce from the L1 again after a failure', async () => {
    const manager = createManager()
    await manager.send(data(1), never)
    // Another program uses the account and takes our next nonce.
    await createManager().send(data(9), never)
    await expect(manager.send(data(2), never)).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
    const receipt = await manager.send(data(3), never)
    expect((await txByHash(receipt.transactionHash)).nonce).toBe('0x2')
  })

  it('publishes again when an L1 reorg takes the transaction away', async () => {
    const sending = createManager({ numConfirmations: 4, rebroadcastIntervalMs: 100 }).send(data(5), never)
    await log.seen('Transaction is in a block')
    await automine(false)
    await rpc.request('anvil_rollback', [1])
    const published = log.of('Transaction successfully published').length
    await log.seen('Transaction left the L1 chain')
    await log.seen('Transaction successfully published', published + 1)
    for (let block = 0; block < 6; block++) await mine()
    const receipt = await sending
    expect(await blockInputs(receipt.blockNumber)).toEqual(['0x05'])
  })

  it("continues at the L1's nonce after a reorg dropped confirmed transactions", async () => {
    const manager = createManager({ rebroadcastIntervalMs: 100 })
    await manager.send(data(1), never)
    await manager.send(data(2), never)
    await rpc.request('anvil_reorg', [2, []])
    // Nonce 2 cannot be mined: the L1 has lost 0 and 1.
    await expect(manager.send(data(3), never)).rejects.toThrow(errorWith('tx-aborted', 'nonce gap'))
    const receipt = await manager.send(data(3), never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ nonce: '0x0', input: '0x03' })
  })

  it('detects a nonce gap after a reorg dropped a confirmed transaction and one that waited for confirmations', async () => {
    const first = createManager()
    await first.send(data(1), never)
    const manager = createManager({ numConfirmations: 3, rebroadcastIntervalMs: 60_000 })
    const sending = manager.send(data(2), never)
    const failed = expect(sending).rejects.toThrow(errorWith('tx-aborted', 'nonce gap'))
    await log.seen('Transaction is in a block', 2)
    await rpc.request('anvil_reorg', [2, []])
    await failed
  })

  it('publishes all transactions again that a reorg dropped before they were confirmed', async () => {
    const manager = createManager({ numConfirmations: 3, rebroadcastIntervalMs: 100 })
    const sends: ReturnType<typeof manager.send>[] = []
    await automine(false)
    for (const value of [1, 2, 3]) {
      sends.push(manager.send(data(value), never))
      await log.seen('Transaction successfully published', value)
      await mine()
    }
    // All three blocks: the manager would not notice a reorg of a block that it has not seen.
    await log.seen('Transaction is in a block', 3)
    await rpc.request('anvil_reorg', [2, []])
    await log.seen('Transaction left the L1 chain', 2)
    const mining = setInterval(() => mine().catch(() => {}), 100)
    const receipts = await Promise.all(sends).finally(() => clearInterval(mining))
    const inputs = await Promise.all(
      receipts.map(async ({ transactionHash }) => (await txByHash(transactionHash)).input),
    )
    expect(inputs).toEqual(['0x01', '0x02', '0x03'])
  })

  it('aborts if the L1 never accepts the transaction', async () => {
    const manager = createManager({ notInMempoolTimeoutMs: 200 }, (l1) => ({
      ...l1,
      sendRawTransaction: async () => {
        throw new JsonRpcError(-32000, 'the pool is full')
      },
    }))
    await expect(manager.send(data(1), never)).rejects.toThrow(errorWith('tx-aborted', 'mempool'))
    expect(log.of('Unable to publish transaction')[0]).toMatchObject({ err: 'the pool is full' })
  })

  it('retries while the L1 does not answer', async () => {
    let failures = 3
    const manager = createManager({}, (l1) => ({
      ...l1,
      suggestFees: (call, signal) =>
        failures-- > 0 ? Promise.reject(new JsonRpcError(-32000, 'busy')) : l1.suggestFees(call, signal),
    }))
    await manager.send(data(1), never)
    expect(log.of('Failed to create a transaction, will retry')).toHaveLength(3)
  })

  it('fails with a temporary error if the transaction cannot be created', async () => {
    await rpc.request('anvil_setBalance', [signer.address, '0x0'])
    const sending = createManager({ maxRetries: 2, notInMempoolTimeoutMs: 100 }).send(data(1), never)
    await expect(sending).rejects.toMatchObject({ severity: 'temporary' })
  })

  it("does not send while fees are above the operator's limits", async () => {
    const manager = createManager({ maxTipCapWei: 1n, maxRetries: 2 })
    await rpc.request('anvil_setNextBlockBaseFeePerGas', ['0x1'])
    const limited = createManager({ maxBaseFeeWei: 1n, maxRetries: 2 })
    await expect(manager.send(data(1), never)).rejects.toMatchObject({
      code: 'tx-craft',
      cause: errorWith('fee-limit', '--txmgr.max-tip-cap', 1),
    })
    await expect(limited.send(data(1), never)).rejects.toMatchObject({
      code: 'tx-craft',
      cause: errorWith('fee-limit', '--txmgr.max-basefee', 1),
    })
  })

  it('reports the foreign transaction that used its nonce, and none of its own', async () => {
    await automine(false)
    const foreign: ForeignTx[] = []
    const manager = createManager({ rebroadcastIntervalMs: 30 }, undefined, (tx) => foreign.push(tx))
    const refused = expect(manager.send(data(1), never)).rejects.toThrow(errorWith('tx-aborted', 'nonce too low'))
    await log.seen('Transaction successfully published')
    // Higher fees, so that it replaces the pool's transaction.
    const other = createManager({ minTipCapWei: 9_000_000_000n, minBaseFeeWei: 9_000_000_000n }).send(data(7), never)
    await log.seen('Transaction successfully published', 2)
    await mine()
    const { transactionHash, blockNumber } = await other
    await refused
    expect(foreign).toEqual([{ hash: transactionHash, nonce: 0, to: INBOX, blockNumber }])

    await automine(true)
    await manager.send(data(2), never)
    expect(foreign).toHaveLength(1)
  })

  it('does not use the nonce of an earlier transaction that could not be created', async () => {
    let refusals = 1
    const manager = createManager({ maxRetries: 1 }, (l1) => ({
      ...l1,
      suggestFees: (call, signal) =>
        refusals-- > 0 ? Promise.reject(new JsonRpcError(-32000, 'busy')) : l1.suggestFees(call, signal),
    }))
    const [first, second] = await Promise.allSettled([manager.send(data(1), never), manager.send(data(2), never)])
    expect([first?.status, second?.status]).toEqual(['rejected', 'rejected'])
    expect(log.of('Publishing transaction')).toEqual([])
    const receipts = await Promise.all([manager.send(data(1), never), manager.send(data(2), never)])
    const inputs = receipts.map(async ({ transactionHash }) => (await txByHash(transactionHash)).input)
    expect(await Promise.all(inputs)).toEqual(['0x01', '0x02'])
  })

  it('ends a send after its time limit', async () => {
    await automine(false)
    await expect(createManager({ sendTimeoutMs: 200 }).send(data(1), never)).rejects.toMatchObject({
      code: 'tx-timeout',
    })
  })
})
