import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import {
  BLOB,
  CALLDATA,
  calldata,
  createSteppedManager,
  FOREIGN_HASH,
  fault,
  never,
  noncesOf,
  silence,
} from '../testUtils/steppedManager.ts'
import type { TxCandidate } from './txManager.ts'

// The clock is stepped, and the L1's pool and blocks contain what the test says. Tests over a real L1 are in
// `txManager.test.ts` and `txManagerBlobs.test.ts`.

type Stepped = ReturnType<typeof createSteppedManager>

/** Sends that were abandoned after their publication. The pool holds their transactions. */
async function leaveBehind({ send, pass }: Stepped, ...candidates: TxCandidate[]): Promise<void> {
  const stop = new AbortController()
  for (const candidate of candidates) send(candidate, stop.signal)
  await pass(0)
  stop.abort(new Error('abandoned'))
  await pass(0)
}

describe('a send whose nonce is used', () => {
  const LOST = errorWith('tx-aborted', 'nonce too low')
  const NOT_FOUND = 'Failed to find the transaction that used the nonce'

  /** Published. The next look at the nonce ends it. */
  async function published(options?: { reportsForeign: boolean }) {
    const stepped = createSteppedManager({ safeAbortNonceTooLowCount: 1 }, options)
    const stop = new AbortController()
    const sending = stepped.send(CALLDATA, stop.signal)
    await stepped.pass(0)
    return { ...stepped, sending, stop }
  }

  it('reports the foreign transaction', async () => {
    const { manager, l1, sending, foreign, pass } = await published()
    l1.addForeign()
    l1.mine()
    await pass(12)
    await expect(sending).rejects.toThrow(LOST)
    expect(foreign).toEqual([{ hash: FOREIGN_HASH, to: manager.from, nonce: 7, blockNumber: 6 }])
  })

  it('reports neither a version of its own nor one of an earlier send', async () => {
    const { l1, sending, sent, stop, foreign, log, send, pass } = await published()
    stop.abort(new Error('abandoned'))
    await expect(sending).rejects.toThrow('abandoned')
    const second = send(calldata(2))
    await pass(0)
    const [first] = sent
    if (first !== undefined) l1.pool.set(7, first)
    l1.mine()
    await pass(12)
    await expect(second).rejects.toThrow(LOST)

    const third = send(calldata(3))
    await pass(0)
    l1.mine()
    // The receipts come from a machine that lags behind.
    const { mined } = l1
    l1.onRequest = async (method) => {
      l1.mined = method === 'receipts' ? [] : mined
    }
    await pass(12)
    await expect(third).rejects.toThrow(LOST)
    expect(foreign).toEqual([])
    expect(log.of(NOT_FOUND)).toEqual([])
  })

  it('reports no failed cancellation that a reorg takes away and the L1 mines again', async () => {
    const { manager, l1, sent, foreign, send, pass } = createSteppedManager({ safeAbortNonceTooLowCount: 1 })
    l1.addForeign()
    const cancelling = manager.cancelPending(never)
    await pass(1)
    l1.refusalOf = () => 'address already reserved'
    l1.fees = { ...l1.fees, baseFee: 2n * l1.fees.baseFee }
    await pass(13)
    expect(manager.cancelling?.problem).toContain('reserved')
    l1.mine()
    await pass(1)
    await cancelling
    l1.mined.length = 0
    l1.refusalOf = () => undefined
    const sending = send(CALLDATA)
    await pass(0)
    const [cancellation] = sent
    if (cancellation !== undefined) l1.pool.set(7, cancellation)
    l1.mine()
    await pass(12)
    await expect(sending).rejects.toThrow(LOST)
    expect(foreign).toEqual([])
  })

  it('reports nothing if no block has the transaction', async () => {
    const { l1, foreign, log, send, pass } = createSteppedManager()
    l1.refusalOf = () => 'nonce too low'
    const sending = send(CALLDATA)
    await pass(0)
    await expect(sending).rejects.toThrow(LOST)
    expect([foreign, log.of(NOT_FOUND)]).toEqual([[], []])
  })

  it('logs why the foreign transaction cannot be found', async () => {
    const { l1, sending, foreign, log, pass } = await published()
    l1.addForeign()
    l1.mine()
    l1.onRequest = fault('head')
    await pass(12)
    await expect(sending).rejects.toThrow(LOST)
    expect(log.of(NOT_FOUND)).toMatchObject([{ nonce: 7, err: 'busy' }])
    expect(foreign).toEqual([])
  })

  it('ends with the signal while the foreign transaction is sought', async () => {
    const { l1, sending, stop, log, pass } = await published()
    l1.addForeign()
    l1.mine()
    l1.onRequest = silence('head')
    await pass(12)
    stop.abort(new Error('closing'))
    await expect(sending).rejects.toThrow(LOST)
    expect(log.of(NOT_FOUND)).toEqual([])
  })

  it('does not seek the foreign transaction if nobody wants to know it', async () => {
    const { l1, sending, pass } = await published({ reportsForeign: false })
    l1.addForeign()
    l1.mine()
    const methods: string[] = []
    l1.onRequest = async (method) => methods.push(method)
    await pass(12)
    await expect(sending).rejects.toThrow(LOST)
    expect(methods).not.toContain('head')
  })
})

describe('cancellation', () => {
  it.each([
    { kind: 'calldata', candidate: CALLDATA, type: 2, percent: 110n },
    { kind: 'blobs', candidate: BLOB, type: 3, percent: 200n },
  ])('replaces abandoned transactions, and then forgets them: $kind', async ({ candidate, type, percent }) => {
    const stepped = createSteppedManager()
    const { manager, l1, sent, pass } = stepped
    await leaveBehind(stepped, candidate)
    expect(manager.cancelling).toBeUndefined()
    const cancelling = manager.cancelPending(never)
    await pass(0)
    const [{ tip: oldTip } = { tip: 0n }, ...cancellations] = sent
    const tip = (oldTip * percent) / 100n
    expect(cancellations).toMatchObject([{ nonce: 7, type, tip, to: manager.from, data: '0x' }])
    expect(manager.cancelling).toMatchObject({ nonces: [7], problem: undefined })
    expect(noncesOf(manager.sending)).toEqual([7])
    l1.mine()
    await pass(1)
    await cancelling
    expect([manager.cancelling, manager.sending]).toEqual([undefined, []])

    l1.addForeign()
    void manager.cancelPending(never)
    await pass(0)
    expect(sent.slice(2)).toMatchObject([{ nonce: 8, type: 2 }])
    expect(manager.sending).toMatchObject([{ nonce: 8, blobFeeCapWei: undefined }])
  })

  it('replaces a transaction that was abandoned before the L1 answered', async () => {
    const stepped = createSteppedManager()
    const { manager, l1, sent, pass } = stepped
    l1.onRequest = silence('sendRawTransaction')
    await leaveBehind(stepped, BLOB)
    l1.onRequest = async () => undefined
    void manager.cancelPending(never)
    await pass(0)
    expect(sent).toMatchObject([{ nonce: 7, type: 3, to: manager.from }])
  })

  it.each([
    { id: 'blobs', left: [CALLDATA, CALLDATA, BLOB], types: [2, 2, 3, 3] },
    { id: 'one of blobs', left: [BLOB], types: [3, 3] },
    { id: 'calldata', left: [BLOB, BLOB, CALLDATA], types: [3, 3, 2, 2] },
  ])('has the kind of the newest abandoned transaction where it knows none: $id', async ({ left, types }) => {
    const stepped = createSteppedManager()
    const { manager, l1, sent, pass } = stepped
    await leaveBehind(stepped, ...left)
    l1.addForeign(7 + left.length)
    void manager.cancelPending(never)
    await pass(0)
    const cancellations = sent.slice(left.length).sort((a, b) => a.nonce - b.nonce)
    expect(cancellations.map((tx) => tx.type)).toEqual(types)
  })

  it('forgets abandoned transactions whose nonce is used', async () => {
    const stepped = createSteppedManager()
    const { manager, l1, sent, send, pass } = stepped
    await leaveBehind(stepped, BLOB)
    const sending = send(CALLDATA)
    await pass(0)
    l1.mine()
    await pass(1)
    await sending
    l1.addForeign()
    void manager.cancelPending(never)
    await pass(0)
    expect(sent.slice(2)).toMatchObject([{ nonce: 8, type: 2 }])
  })

  it('still replaces abandoned transactions of higher nonces', async () => {
    const stepped = createSteppedManager()
    const { manager, l1, sent, send, pass } = stepped
    await leaveBehind(stepped, BLOB, BLOB)
    l1.pool.delete(8)
    const sending = send(CALLDATA)
    await pass(0)
    l1.mine()
    await pass(1)
    await sending
    void manager.cancelPending(never)
    await pass(0)
    expect(sent.slice(3)).toMatchObject([{ nonce: 8, type: 3 }])
  })

  it('is followed by the next nonce of the L1', async () => {
    const { manager, l1, sent, send, pass } = createSteppedManager()
    const first = send(CALLDATA)
    await pass(0)
    l1.mine()
    await pass(1)
    await first
    l1.addForeign()
    const cancelling = manager.cancelPending(never)
    await pass(0)
    l1.mine()
    await pass(1)
    await cancelling
    send(CALLDATA)
    await pass(0)
    expect(noncesOf(sent)).toEqual([7, 8, 9])
  })

  it('shows a refused replacement until the next try, but none whose nonce is used', async () => {
    const { manager, l1, pass } = createSteppedManager()
    l1.addForeign(7)
    l1.addForeign(8)
    l1.refusalOf = ({ nonce }) => (nonce === 7 ? 'address already reserved' : undefined)
    const cancelling = manager.cancelPending(never)
    await pass(0)
    expect(manager.cancelling).toMatchObject({ nonces: [7, 8], problem: expect.stringContaining('reserved') })
    expect(noncesOf(manager.sending)).toEqual([7, 8])
    const last = l1.pool.get(8)
    l1.pool.delete(8)
    l1.mine()
    if (last !== undefined) l1.pool.set(8, last)
    await pass(1)
    expect(manager.cancelling).toMatchObject({ nonces: [8], problem: undefined })
    expect(noncesOf(manager.sending)).toEqual([8])
    l1.mine()
    await pass(1)
    await cancelling
    expect(manager.sending).toEqual([])
  })

  it.each([
    { id: 'the signal', error: { message: 'killed' }, end: (stop: AbortController) => stop.abort(new Error('killed')) },
    {
      id: 'the manager',
      error: { code: 'txmgr-closed' },
      end: (_stop: AbortController, { manager }: Stepped) => manager.close(),
    },
  ])('ends with $id', async ({ error, end }) => {
    const stepped = createSteppedManager()
    const { manager, l1, pass } = stepped
    l1.addForeign()
    const stop = new AbortController()
    const cancelling = manager.cancelPending(stop.signal)
    await pass(0)
    end(stop, stepped)
    await expect(cancelling).rejects.toMatchObject(error)
    expect([manager.cancelling, manager.sending]).toEqual([undefined, []])
  })

  it.each([
    { id: 'calldata', candidate: CALLDATA, own: 2, other: 3, blobFeeCapWei: 1_000_000_000n },
    { id: 'blobs', candidate: BLOB, own: 3, other: 2, blobFeeCapWei: undefined },
  ])('of the other kind follows once if the pool refuses several sends: $id', async (given) => {
    const { manager, l1, log, sent, send, pass } = createSteppedManager()
    l1.addForeign()
    l1.refusalOf = ({ type }) => (type === given.own ? 'address already reserved' : undefined)
    const sends = [send(given.candidate), send(given.candidate)]
    await pass(1)
    expect(sent.map(({ nonce, type }) => [nonce, type])).toEqual([
      [7, given.own],
      [8, given.own],
      [7, given.other],
    ])
    expect(manager.sending[0]).toMatchObject({ nonce: 7, blobFeeCapWei: given.blobFeeCapWei })
    expect(log.of('sending a cancellation transaction to unblock txpool')).toHaveLength(1)
    l1.mine()
    l1.refusalOf = () => undefined
    await pass(1)
    for (const sending of sends)
      await expect(sending).rejects.toThrow(errorWith('tx-aborted', 'address already reserved'))
    send(given.candidate)
    await pass(0)
    expect(sent.at(-1)).toMatchObject({ nonce: 8, type: given.own })
  })
})
