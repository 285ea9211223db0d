import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { JsonRpcError } from '../../lib/jsonRpc/types.ts'
import { encodeBlob } from '../../rollup/protocol/index.ts'
import type { L1Endpoint } from '../l1Endpoint.ts'
import {
  anvil,
  automine,
  createManager,
  data,
  log,
  mine,
  never,
  rpc,
  signer,
  txByHash,
} from '../testUtils/txManagerInTest.ts'
import { L1_SILENCE_LIMIT_MS } from './l1Silence.ts'

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
