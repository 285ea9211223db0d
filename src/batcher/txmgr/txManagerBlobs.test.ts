import { describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../jsonRpc/types.ts'
import { toQuantity } from '../../lib/hex.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { decodeBlob, encodeBlob } from '../../rollup/protocol/index.ts'
import { feeOf, type SubmitterL1, type TxReceipt } from '../l1/submitterL1.ts'
import { readBlobs } from '../testUtils/l1Batches.ts'
import {
  anvil,
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
import type { TxManager } from './txManager.ts'

useL1()

describe('blobs', () => {
  const blobOf = (text: string) => encodeBlob(new TextEncoder().encode(text))

  async function postedBlobs({ transactionHash, blockNumber }: TxReceipt): Promise<string[]> {
    const tx = (await rpc.request('eth_getTransactionByHash', [transactionHash])) as { blobVersionedHashes: string[] }
    const blobs = await readBlobs(anvil.url, blockNumber, tx.blobVersionedHashes)
    return blobs.map((blob) => new TextDecoder().decode(decodeBlob(blob)))
  }

  it.each([
    { id: 'with blob proofs', options: {} },
    { id: 'with cell proofs', options: { cellProofTime: 1 } },
  ])('are sent in one transaction, up to six: $id', async ({ options }) => {
    const texts = ['one', 'two', 'three', 'four', 'five', 'six']
    const receipt = await createManager(options).send({ ...data(), blobs: texts.map(blobOf) }, never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({ type: '0x3', to: INBOX, input: '0x' })
    expect(await postedBlobs(receipt)).toEqual(texts)
    expect(receipt.blobGasUsed).toBe(6n * 131_072n)
    expect(feeOf(receipt)).toBeGreaterThan(receipt.gasUsed * receipt.effectiveGasPrice)
  })

  it('double all fees when nothing is mined for the resubmission time', async () => {
    await automine(false)
    const sending = createManager({ resubmissionTimeoutMs: 150 }).send({ ...data(), blobs: [blobOf('late')] }, never)
    const bump = await log.seen('Bumping fees of transaction')
    await log.seen('Transaction successfully published', 2)
    await mine()
    const receipt = await sending
    const tx = await txByHash(receipt.transactionHash)
    expect(BigInt(tx.maxFeePerBlobGas ?? 0)).toBeGreaterThanOrEqual(2_000_000_000n)
    expect(BigInt(tx.maxPriorityFeePerGas ?? 0)).toBeGreaterThanOrEqual(2_000_000_000n)
    expect(bump).toMatchObject({ blobFeeCap: '2000000000', old_blobFeeCap: '1000000000' })
    expect(await postedBlobs(receipt)).toEqual(['late'])
  })
})

describe('fees of blob transactions', () => {
  const candidate = { ...data(), blobs: [encodeBlob(Uint8Array.of(1))] }
  const feesOf = async (manager: TxManager) => {
    const tx = await txByHash((await manager.send(candidate, never)).transactionHash)
    return { tip: BigInt(tx.maxPriorityFeePerGas ?? 0), blobFeeCap: BigInt(tx.maxFeePerBlobGas ?? 0) }
  }

  it('use the lowest tip if recent blocks have no blob transactions, else the configured percentile', async () => {
    // The blob transactions of others are out of range by now.
    for (let block = 0; block < 20; block++) await mine()
    const like = (tip: bigint) => createManager({ minTipCapWei: tip, minBaseFeeWei: 9_000_000_000n })
    const dynamic = { blobTipCapDynamic: true, blobTipCapPercentile: 50, minTipCapWei: 2n }
    expect(await feesOf(createManager(dynamic))).toMatchObject({ tip: 2n })
    for (const tip of [3_000_000_000n, 4_000_000_000n, 5_000_000_000n]) await like(tip).send(candidate, never)
    // Transactions of other kinds do not count: the tips are 2, 3, 4 and 5.
    await like(7_000_000_000n).send(data(1), never)
    expect(await feesOf(createManager(dynamic))).toMatchObject({ tip: 3_000_000_000n })
    const configured = createManager({ ...dynamic, blobTipCapPercentile: 100 })
    expect(await feesOf(configured)).toMatchObject({ tip: 5_000_000_000n })
    // Blocks outside the range are dropped from the cache.
    for (let block = 0; block < 20; block++) await mine()
    expect(await feesOf(configured)).toMatchObject({ tip: 2n })
  })

  it("use the L1's suggested tip if recent tips are unavailable", async () => {
    const manager = createManager({ blobTipCapDynamic: true }, (l1) => ({
      ...l1,
      blobTips: () => Promise.reject(new JsonRpcError(-32000, 'too large')),
    }))
    const suggested = BigInt(String(await rpc.request('eth_maxPriorityFeePerGas', [])))
    expect(await feesOf(manager)).toMatchObject({ tip: suggested })
    expect(log.of('Failed to read the tips of recent blob transactions')).toHaveLength(1)
  })

  it('use the lowest blob fee cap that is set while the manager runs', async () => {
    const manager = createManager()
    manager.tunables.minBlobFeeWei = 5n
    expect(await feesOf(manager)).toMatchObject({ blobFeeCap: 5n })
    manager.tunables.minBlobFeeWei = 3_000_000_000n
    expect(await feesOf(manager)).toMatchObject({ blobFeeCap: 3_000_000_000n })
  })
})

describe('transactions in the pool', () => {
  it.each([
    { id: 'calldata', kind: 'calldata' },
    { id: 'blobs', kind: 'blobs' },
  ] as const)('are replaced by empty ones, also by a manager that did not send them: $id', async ({ kind }) => {
    await automine(false)
    const candidate = kind === 'calldata' ? data(9) : { ...data(), blobs: [encodeBlob(Uint8Array.of(9))] }
    const abandoned = new AbortController()
    const [sender, other] = [createManager(), createManager()]
    const sends = [sender.send(candidate, abandoned.signal), sender.send(candidate, abandoned.signal)]
    await log.seen('Transaction successfully published', 2)
    abandoned.abort(new Error('the block is gone'))
    await Promise.allSettled(sends)
    const byTheSender = sender.cancelPending(never)
    await log.seen('Transaction successfully published', 4)
    const byAnother = other.cancelPending(never)
    await log.seen('Transaction successfully published', 6)
    await mine()
    await Promise.all([byTheSender, byAnother])
    const head = (await rpc.request('eth_getBlockByNumber', ['latest', true])) as {
      transactions: { to: string; input: string; type: string }[]
    }
    expect(head.transactions.map(({ to, input, type }) => [to, input, type])).toEqual(
      Array.from({ length: 2 }, () => [signer.address, '0x', kind === 'blobs' ? '0x3' : '0x2']),
    )
  })

  it('of the other kind are replaced by empty ones if the pool refuses ours', async () => {
    await automine(false)
    const nonce = Number(await rpc.request('eth_getTransactionCount', [signer.address, 'latest']))
    await leaveInPool({ ...data(), blobs: [encodeBlob(Uint8Array.of(9))] })
    // Like geth: one kind of transaction for an account at a time.
    const asGeth = (l1: SubmitterL1): SubmitterL1 => ({
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
    const refused = expect(manager.send(data(1), never)).rejects.toThrow(
      errorWith('tx-aborted', 'address already reserved'),
    )
    await log.seen('sending a cancellation transaction to unblock txpool')
    await log.seen('Transaction successfully published', 2)
    expect(manager.cancelling).toMatchObject({ nonces: [nonce], problem: undefined })
    await mine()
    await refused
    expect(manager.cancelling).toBeUndefined()
    await automine(true)
    const receipt = await manager.send(data(1), never)
    expect(await txByHash(receipt.transactionHash)).toMatchObject({
      nonce: toQuantity(nonce + 1),
      input: '0x01',
      type: '0x2',
    })
  })
})
