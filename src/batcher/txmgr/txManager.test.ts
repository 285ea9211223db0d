import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Anvil, startAnvil } from '../../../test/support/anvil.ts'
import { systemClock } from '../../lib/clock.ts'
import { type Hex, quantityToNumber, toHex } from '../../lib/hex.ts'
import { createRpcClient, type RpcClient } from '../../lib/jsonRpc/client.ts'
import { JsonRpcError } from '../../lib/jsonRpc/types.ts'
import { createKzg } from '../../lib/kzg/index.ts'
import { silentLogger } from '../../lib/logger.ts'
import { decodeBlob, encodeBlob } from '../../rollup/protocol/index.ts'
import { createL1Endpoint, feeOf, type L1Endpoint } from '../l1Endpoint.ts'
import { readBlobs } from '../testUtils/l1Batches.ts'
import { createLogRecorder, type LogRecorder } from '../testUtils/logRecorder.ts'
import { BATCHER_KEY, TEST_TX_OPTIONS } from '../testUtils/submitterSetup.ts'
import type { ForeignTx } from './foreignTx.ts'
import { L1_SILENCE_LIMIT_MS } from './l1Silence.ts'
import { noTxManagerMetrics } from './metrics.ts'
import type { TxManagerOptions } from './options.ts'
import { createLocalSigner } from './signer.ts'
import { TxManager } from './txManager.ts'

const INBOX: Hex = '0xff00000000000000000000000000000000000901'
const never = new AbortController().signal
const signer = createLocalSigner({ privateKey: BATCHER_KEY })

const kzg = createKzg({ clock: systemClock, logger: silentLogger })
afterAll(() => kzg.close())

let anvil: Anvil
let rpc: RpcClient
let log: LogRecorder

beforeEach(async () => {
  anvil = await startAnvil({ args: ['--chain-id', '900', '--slots-in-an-epoch', '1'] })
  rpc = createRpcClient({ url: anvil.url })
  log = createLogRecorder()
})

afterEach(async () => {
  await rpc.close()
  await anvil.stop()
  // Whatever happened in the test: the key was in no line.
  expect(JSON.stringify(log.lines).toLowerCase()).not.toContain(BATCHER_KEY)
})

function createManager(
  options: Partial<TxManagerOptions> = {},
  change: (l1: L1Endpoint) => L1Endpoint = (l1) => l1,
  onForeign: (tx: ForeignTx) => void = () => {},
) {
  const l1 = change(createL1Endpoint(rpc, 30_000))
  return new TxManager(
    { l1, signer, kzg, clock: systemClock, logger: log.logger, metrics: noTxManagerMetrics, onForeign },
    { ...TEST_TX_OPTIONS, ...options, chainId: 900n },
  )
}

const data = (...bytes: number[]) => ({ to: INBOX, data: Uint8Array.from(bytes) })

async function txByHash(hash: string): Promise<Record<string, string>> {
  return (await rpc.request('eth_getTransactionByHash', [hash])) as Record<string, string>
}

async function blockInputs(number: number): Promise<string[]> {
  const block = (await rpc.request('eth_getBlockByNumber', [`0x${number.toString(16)}`, true])) as {
    transactions: { input: string }[]
  }
  return block.transactions.map(({ input }) => input)
}

const automine = (on: boolean) => rpc.request('evm_setAutomine', [on])
const mine = () => rpc.request('evm_mine', [])

describe('sending', () => {
  it('posts the data and resolves with the receipt', async () => {
    const receipt = await createManager().send(data(0, 1, 2), never)
    const tx = await txByHash(receipt.transactionHash)
    expect(tx).toMatchObject({ to: INBOX, input: '0x000102', from: signer.address, type: '0x2', value: '0x0' })
    expect(receipt.blockNumber).toBe(quantityToNumber(tx.blockNumber))
  })

  it('waits for the confirmations asked for', async () => {
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
    expect(refused.err).toContain('is over 1x multiple of the suggested value')
    expect(manager.sending[0]?.problem).toContain('its fees cannot be raised: bumped')
    await mine()
    const tx = await txByHash((await sending).transactionHash)
    expect(BigInt(tx.maxPriorityFeePerGas ?? 0)).toBe(1_000_000_000n)
  })

  it('replaces a pending transaction that an earlier program left behind', async () => {
    await automine(false)
    const abandoned = new AbortController()
    const first = createManager().send(data(1), abandoned.signal)
    await log.seen('Transaction successfully published')
    abandoned.abort(new Error('killed'))
    await expect(first).rejects.toThrow('killed')

    const sending = createManager().send(data(2), never)
    await log.seen('Transaction is underpriced')
    await log.seen('Transaction successfully published', 2)
    await mine()
    const receipt = await sending
    expect(await blockInputs(receipt.blockNumber)).toEqual(['0x02'])
  })

  it('asks the L1 for its nonce again after a failure', async () => {
    const manager = createManager()
    await manager.send(data(1), never)
    // The account is used by somebody else: our next nonce is taken.
    await createManager().send(data(9), never)
    await expect(manager.send(data(2), never)).rejects.toThrow('aborted tx send due to critical error: nonce too low')
    const receipt = await manager.send(data(3), never)
    expect((await txByHash(receipt.transactionHash)).nonce).toBe('0x2')
  })

  it('publishes again when an L1 reorg takes the transaction away', async () => {
    const sending = createManager({ numConfirmations: 4, rebroadcastIntervalMs: 100 }).send(data(5), never)
    await log.seen('Transaction is in a block')
    await automine(false)
    await rpc.request('anvil_rollback', [1])
    await log.seen('Transaction left the L1 chain')
    await log.seen('Publishing transaction', 2)
    for (let block = 0; block < 6; block++) await mine()
    const receipt = await sending
    expect(await blockInputs(receipt.blockNumber)).toEqual(['0x05'])
  })

  it('begins again at the nonce of the L1 when a reorg dropped transactions that were confirmed', async () => {
    const manager = createManager({ rebroadcastIntervalMs: 100 })
    await manager.send(data(1), never)
    await manager.send(data(2), never)
    await rpc.request('anvil_reorg', [2, []])
    // Nonce 2 cannot be mined: the L1 has forgotten 0 and 1.
    await expect(manager.send(data(3), never)).rejects.toThrow('aborted tx send due to critical error: nonce gap')
    const receipt = await manager.send(data(3), never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ nonce: '0x0', input: '0x03' })
  })

  it('sees the gap when the reorg drops a confirmed transaction and one that waits for confirmations', async () => {
    const first = createManager()
    await first.send(data(1), never)
    const manager = createManager({ numConfirmations: 3, rebroadcastIntervalMs: 60_000 })
    const sending = manager.send(data(2), never)
    const failed = expect(sending).rejects.toThrow('nonce gap')
    await log.seen('Transaction is in a block', 2)
    await rpc.request('anvil_reorg', [2, []])
    await failed
  })

  it('sends all again that a reorg dropped while they waited for confirmations', async () => {
    const manager = createManager({ numConfirmations: 3, rebroadcastIntervalMs: 100 })
    const sends = [1, 2, 3].map((value) => manager.send(data(value), never))
    // All three: a block that the manager has not seen yet would go without a word of it.
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

  it('gives up when the L1 never takes the transaction', async () => {
    const manager = createManager({ notInMempoolTimeoutMs: 200 }, (l1) => ({
      ...l1,
      sendRawTransaction: async () => {
        throw new JsonRpcError(-32000, 'the pool is full')
      },
    }))
    await expect(manager.send(data(1), never)).rejects.toThrow('failed to get tx into the mempool')
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

  it('fails with the cause when it cannot be made', async () => {
    await rpc.request('anvil_setBalance', [signer.address, '0x0'])
    const sending = createManager({ maxRetries: 2, notInMempoolTimeoutMs: 100 }).send(data(1), never)
    await expect(sending).rejects.toMatchObject({ severity: 'temporary' })
  })

  it('does not send while fees are above the limit of the operator', async () => {
    const manager = createManager({ maxTipCapWei: 1n, maxRetries: 2 })
    await rpc.request('anvil_setNextBlockBaseFeePerGas', ['0x1'])
    const limited = createManager({ maxBaseFeeWei: 1n, maxRetries: 2 })
    await expect(manager.send(data(1), never)).rejects.toThrow('tip is too high')
    await expect(limited.send(data(1), never)).rejects.toThrow('base fee is too high')
  })

  it('names the transaction of somebody else that took its nonce, and none of its own', async () => {
    await automine(false)
    const foreign: ForeignTx[] = []
    const manager = createManager({ rebroadcastIntervalMs: 30 }, undefined, (tx) => foreign.push(tx))
    const refused = expect(manager.send(data(1), never)).rejects.toThrow('nonce too low')
    await log.seen('Transaction successfully published')
    // Dearer, so that it takes the place in the pool.
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

  it('publishes nothing at the nonce of a transaction before it that could not be made', async () => {
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

  it('ends a send after its time', async () => {
    await automine(false)
    await expect(createManager({ sendTimeoutMs: 200 }).send(data(1), never)).rejects.toMatchObject({
      code: 'tx-timeout',
    })
  })
})

describe('blobs', () => {
  const blobOf = (text: string) => encodeBlob(new TextEncoder().encode(text))

  async function postedBlobs(hash: string): Promise<string[]> {
    const tx = (await rpc.request('eth_getTransactionByHash', [hash])) as {
      blockNumber: string
      blobVersionedHashes: string[]
    }
    const blobs = await readBlobs(anvil.url, Number(tx.blockNumber), tx.blobVersionedHashes)
    return blobs.map((blob) => new TextDecoder().decode(decodeBlob(blob)))
  }

  it.each([
    { id: 'with blob proofs', options: {} },
    { id: 'with cell proofs', options: { cellProofTime: 1 } },
  ])('go to the L1 in one transaction, up to six: $id', async ({ options }) => {
    const texts = ['one', 'two', 'three', 'four', 'five', 'six']
    const receipt = await createManager(options).send({ ...data(), blobs: texts.map(blobOf) }, never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ type: '0x3', to: INBOX, input: '0x' })
    expect(await postedBlobs(receipt.transactionHash)).toEqual(texts)
    expect(receipt.blobGasUsed).toBe(6n * 131_072n)
    expect(feeOf(receipt)).toBeGreaterThan(receipt.gasUsed * receipt.effectiveGasPrice)
  })

  it('double all fees when nothing is mined for the resubmission time', async () => {
    await automine(false)
    const sending = createManager({ resubmissionTimeoutMs: 150 }).send({ ...data(), blobs: [blobOf('late')] }, never)
    const bump = await log.seen('Bumping fees of transaction')
    await log.seen('Transaction successfully published', 2)
    await mine()
    const tx = await txByHash((await sending).transactionHash)
    expect(BigInt(tx.maxFeePerBlobGas ?? 0)).toBeGreaterThanOrEqual(2_000_000_000n)
    expect(BigInt(tx.maxPriorityFeePerGas ?? 0)).toBeGreaterThanOrEqual(2_000_000_000n)
    expect(bump).toMatchObject({ blobFeeCap: '2000000000', old_blobFeeCap: '1000000000' })
    expect(await postedBlobs(tx.hash ?? '')).toEqual(['late'])
  })
})

describe('what blob transactions pay', () => {
  const candidate = { ...data(), blobs: [encodeBlob(Uint8Array.of(1))] }
  const feesOf = async (manager: TxManager) => {
    const tx = await txByHash((await manager.send(candidate, never)).transactionHash)
    return { tip: BigInt(tx.maxPriorityFeePerGas ?? 0), blobFeeCap: BigInt(tx.maxFeePerBlobGas ?? 0) }
  }

  it('is the least tip where there are no others, else what the asked-for part of them tips', async () => {
    const like = (tip: bigint) => createManager({ minTipCapWei: tip, minBaseFeeWei: 9_000_000_000n })
    const dynamic = { blobTipCapDynamic: true, blobTipCapPercentile: 50, minTipCapWei: 2n }
    expect(await feesOf(createManager(dynamic))).toMatchObject({ tip: 2n })
    for (const tip of [3_000_000_000n, 4_000_000_000n, 5_000_000_000n]) await like(tip).send(candidate, never)
    // Others do not count: tips are 2, 3, 4 and 5.
    await like(7_000_000_000n).send(data(1), never)
    expect(await feesOf(createManager(dynamic))).toMatchObject({ tip: 3_000_000_000n })
    const asked = createManager({ ...dynamic, blobTipCapPercentile: 100 })
    expect(await feesOf(asked)).toMatchObject({ tip: 5_000_000_000n })
    // Blocks that left the range are forgotten.
    for (let block = 0; block < 20; block++) await mine()
    expect(await feesOf(asked)).toMatchObject({ tip: 2n })
  })

  it('is what the L1 suggests where it does not tell of others', async () => {
    const manager = createManager({ blobTipCapDynamic: true }, (l1) => ({
      ...l1,
      blobTips: () => Promise.reject(new JsonRpcError(-32000, 'too large')),
    }))
    expect(await feesOf(manager)).toMatchObject({ tip: 1_000_000_000n })
    expect(log.of('Unable to read what other blob transactions tip')).toHaveLength(1)
  })

  it('is for blobs at least what is set while the manager runs', async () => {
    const manager = createManager()
    manager.tunables.minBlobFeeWei = 5n
    expect(await feesOf(manager)).toMatchObject({ blobFeeCap: 5n })
    manager.tunables.minBlobFeeWei = 3_000_000_000n
    expect(await feesOf(manager)).toMatchObject({ blobFeeCap: 3_000_000_000n })
  })
})

describe('transactions that stand in the pool', () => {
  it.each([
    { id: 'calldata', kind: 'calldata' },
    { id: 'blobs', kind: 'blobs' },
  ] as const)('are replaced by empty ones, whoever of us sent them: $id', async ({ kind }) => {
    await automine(false)
    const candidate = kind === 'calldata' ? data(9) : { ...data(), blobs: [encodeBlob(Uint8Array.of(9))] }
    const abandoned = new AbortController()
    const managers = [createManager(), createManager()]
    const sends = [managers[0]?.send(candidate, abandoned.signal), managers[0]?.send(candidate, abandoned.signal)]
    await log.seen('Transaction successfully published', 2)
    abandoned.abort(new Error('the block is gone'))
    await Promise.allSettled(sends)
    for (const manager of managers) {
      const published = log.of('Transaction successfully published').length
      const cancelling = manager.cancelPending(never)
      await log.seen('Transaction successfully published', published + 2)
      if (manager === managers[1]) await mine()
      else {
        void cancelling
        continue
      }
      await cancelling
    }
    const head = (await rpc.request('eth_getBlockByNumber', ['latest', true])) as {
      transactions: { to: string; input: string; type: string }[]
    }
    expect(head.transactions.map(({ to, input, type }) => [to, input, type])).toEqual(
      Array.from({ length: 2 }, () => [signer.address, '0x', kind === 'blobs' ? '0x3' : '0x2']),
    )
  })

  it('of the other kind are cancelled when the pool takes no other beside them', async () => {
    await automine(false)
    const abandoned = new AbortController()
    const blobs = createManager().send({ ...data(), blobs: [encodeBlob(Uint8Array.of(9))] }, abandoned.signal)
    await log.seen('Transaction successfully published')
    abandoned.abort(new Error('killed'))
    await expect(blobs).rejects.toThrow('killed')
    // As geth: one kind of transactions of an account at a time.
    const asGeth = (l1: L1Endpoint): L1Endpoint => ({
      ...l1,
      sendRawTransaction: async (raw, signal) => {
        const [latest, pending] = [
          await l1.nonceAt(signer.address, 'latest'),
          await l1.nonceAt(signer.address, 'pending'),
        ]
        if (raw[0] === 2 && pending > latest) throw new JsonRpcError(-32000, 'address already reserved')
        await l1.sendRawTransaction(raw, signal)
      },
    })
    const manager = createManager({}, asGeth)
    const refused = expect(manager.send(data(1), never)).rejects.toThrow('address already reserved')
    await log.seen('sending a cancellation transaction to unblock txpool')
    await log.seen('Transaction successfully published', 2)
    expect(manager.cancelling).toMatchObject({ nonces: [0], problem: undefined })
    await mine()
    await refused
    expect(manager.cancelling).toBeUndefined()
    await automine(true)
    const receipt = await manager.send(data(1), never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ nonce: '0x1', input: '0x01', type: '0x2' })
  })
})

describe('closing', () => {
  it('refuses new sends and ends those that are not mined at their next publication', async () => {
    await automine(false)
    const manager = createManager({ rebroadcastIntervalMs: 100 })
    const sending = manager.send(data(1), never)
    await log.seen('Transaction successfully published')
    manager.close()
    await expect(manager.send(data(2), never)).rejects.toThrow('transaction manager is closed')
    await expect(sending).rejects.toThrow('transaction manager is closed')
  })

  it('waits for what is mined', async () => {
    const manager = createManager({ numConfirmations: 2, rebroadcastIntervalMs: 50 })
    const sending = manager.send(data(1), never)
    await log.seen('Transaction is in a block')
    manager.close()
    await mine()
    expect((await sending).blockNumber).toBe(1)
  })

  it.each([
    { id: 'is gone', signal: 'SIGKILL' },
    { id: 'hangs', signal: 'SIGSTOP' },
  ] as const)('gives confirmations up soon when the L1 $id, and says which', async ({ signal }) => {
    const manager = createManager({ numConfirmations: 3, receiptQueryIntervalMs: 60_000 })
    const sending = manager.send(data(1), never)
    const failed = expect(sending).rejects.toMatchObject({ code: 'l1-silent' })
    await log.seen('Transaction is in a block')
    anvil.process.kill(signal)
    try {
      manager.close()
      await failed
    } finally {
      anvil.process.kill('SIGCONT')
    }
    const hash = log.of('Transaction successfully published')[0]?.tx
    const warnings = log.lines.filter(({ lvl }) => lvl === 'warn')
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toMatchObject({
      msg: 'The L1 does not answer: stopping before these transactions are confirmed',
      transactions: [`${hash} (nonce 0, in block 1)`],
    })
  })

  it('waits on while the L1 answers', async () => {
    const manager = createManager({ numConfirmations: 2, receiptQueryIntervalMs: 100 }, (l1) => ({
      ...l1,
      head: () => Promise.reject(new JsonRpcError(-32005, 'too many requests')),
    }))
    let ended = false
    const sending = manager.send(data(1), never).finally(() => {
      ended = true
    })
    await log.seen('Transaction is in a block')
    manager.close()
    await delay(L1_SILENCE_LIMIT_MS + 500)
    expect(ended).toBe(false)
    await mine()
    expect((await sending).blockNumber).toBe(1)
  })
})
