import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import {
  BLOB,
  CALLDATA,
  calldata,
  createSteppedManager,
  fault,
  INBOX,
  noncesOf,
  silence,
} from '../testUtils/steppedManager.ts'
import { FEES, S } from '../testUtils/steppedSend.ts'

// Tests over a real L1 are in `txManager.test.ts`. Here the clock is stepped, and the L1 answers as the test says.

const GWEI = 1_000_000_000n

describe('fees', () => {
  it.each([
    { id: "the L1's", options: { minTipCapWei: 0n, minBaseFeeWei: 0n }, tip: GWEI, feeCap: 3n * GWEI },
    {
      id: "the operator's minima",
      options: { minTipCapWei: 2n * GWEI, minBaseFeeWei: 4n * GWEI },
      tip: 2n * GWEI,
      feeCap: 10n * GWEI,
    },
    {
      id: "the L1's, equal to the operator's maxima",
      options: { maxTipCapWei: GWEI, maxBaseFeeWei: GWEI },
      tip: GWEI,
      feeCap: 3n * GWEI,
    },
  ])('are $id', async ({ options, tip, feeCap }) => {
    const { manager, l1, sent, send, pass, metric } = createSteppedManager(options)
    send(CALLDATA)
    await pass(0)
    expect(l1.calls).toEqual([{ ...CALLDATA, from: manager.from, gasLimit: 21_040n }])
    expect(sent).toMatchObject([{ type: 2, nonce: 7, to: INBOX, data: '0x01', tip, feeCap }])
    expect(manager.sending).toMatchObject([{ nonce: 7, blobFeeCapWei: undefined }])
    expect([await metric('tipcap_wei'), await metric('basefee_wei')]).toEqual([1e9, 1e9])
  })

  it.each([
    { flag: '--txmgr.max-tip-cap', options: { minTipCapWei: 0n, maxTipCapWei: GWEI - 1n } },
    { flag: '--txmgr.max-basefee', options: { maxBaseFeeWei: GWEI - 1n } },
  ])('above $flag are awaited to fall', async ({ flag, options }) => {
    const { manager, l1, sent, send, pass } = createSteppedManager(options)
    send(CALLDATA)
    await pass(0)
    expect(sent).toEqual([])
    expect(manager.problem).toContain(flag)
    l1.fees = { tip: 1n, baseFee: 1n }
    await pass(1)
    expect(sent).toHaveLength(1)
    expect(manager.problem).toBeUndefined()
  })

  it('follow the minimum that is set while the manager runs', async () => {
    const { manager, sent, send, pass } = createSteppedManager()
    manager.tunables.minTipCapWei = 3n * GWEI
    send(CALLDATA)
    await pass(1)
    manager.tunables.minTipCapWei = 5n * GWEI
    await pass(48)
    expect([sent[0]?.tip, sent.at(-1)?.tip]).toEqual([3n * GWEI, 5n * GWEI])
  })

  it.each([
    { id: 'from recent ones', blobTipCapDynamic: true, faulty: '', tip: 5n, measured: 5 },
    { id: "the L1's if recent ones cannot be read", blobTipCapDynamic: true, faulty: 'blobTips', measured: 1e9 },
    { id: "the L1's by default", blobTipCapDynamic: false, faulty: '', measured: 0 },
  ])(
    'of blob transactions have a tip of their own: $id',
    async ({ blobTipCapDynamic, faulty, tip = GWEI, measured }) => {
      const { l1, sent, send, pass, metric } = createSteppedManager({ blobTipCapDynamic })
      l1.blobTips = [5n]
      l1.onRequest = fault(faulty)
      send(CALLDATA)
      await pass(0)
      expect(await metric('blob_tipcap_wei')).toBe(0)
      send(BLOB)
      await pass(0)
      expect(sent.map((tx) => [tx.type, tx.tip])).toEqual([
        [2, GWEI],
        [3, tip],
      ])
      expect(await metric('blob_tipcap_wei')).toBe(measured)
    },
  )
})

describe('blobs', () => {
  it.each([
    { form: 'blob', cellProofTime: 1_000_000 },
    { form: 'cell', cellProofTime: 999_000 },
  ])("have the proofs of the L1's fork: $form", async ({ form, cellProofTime }) => {
    const { manager, sent, proofs, send, pass } = createSteppedManager({ cellProofTime })
    send(BLOB)
    await pass(13)
    expect(sent).toMatchObject([1, 2].map(() => ({ type: 3, nonce: 7, proofs: form, blobFeeCap: GWEI })))
    expect(manager.sending).toMatchObject([{ blobs: 1 }])
    expect(proofs.computed).toEqual([form])
  })

  it('are proven again once after a fork', async () => {
    const { sent, proofs, send, pass } = createSteppedManager({ cellProofTime: 1_000_005 })
    send(BLOB)
    await pass(37)
    expect(sent.map((tx) => tx.proofs)).toEqual(['blob', 'blob', 'cell', 'cell'])
    expect(proofs.computed).toEqual(['blob', 'cell'])
  })

  it.each([
    { refused: 'blob', accepted: 'cell', cellProofTime: 2_000_000 },
    { refused: 'cell', accepted: 'blob', cellProofTime: 1 },
  ])('have the other proofs from a refusal on: $refused', async ({ refused, accepted, cellProofTime }) => {
    const { l1, sent, proofs, send, pass } = createSteppedManager({ cellProofTime })
    l1.refusalOf = (tx) => (tx.proofs === refused ? 'unexpected sidecar version' : undefined)
    send(BLOB)
    await pass(0)
    send(BLOB)
    await pass(0)
    expect(sent.map((tx) => [tx.nonce, tx.proofs])).toEqual([
      [7, refused],
      [7, accepted],
      [8, accepted],
    ])
    expect(proofs.computed).toEqual([refused, accepted, accepted])
  })

  it('fail at once on an L1 without blobs, which takes calldata', async () => {
    const { l1, log, sent, send, pass, metric } = createSteppedManager()
    l1.fees = FEES
    const sending = send(BLOB)
    await pass(0)
    await expect(sending).rejects.toMatchObject({
      code: 'tx-craft',
      cause: errorWith('l1-unsupported', '--data-availability-type calldata'),
    })
    expect(log.of('Failed to create a transaction, will retry')).toEqual([])
    expect(await metric('rpc_error_count')).toBe(0)
    send(CALLDATA)
    await pass(0)
    expect(sent).toMatchObject([{ type: 2 }])
  })
})

describe('several sends', () => {
  it('have nonces in the order of the calls, although the proofs of an earlier one take longer', async () => {
    const { manager, l1, sent, proofs, send, pass, metric, openTimers } = createSteppedManager({
      sendTimeoutMs: 900 * S,
    })
    const gate = Promise.withResolvers<void>()
    proofs.gate = gate.promise
    const sends = [send(BLOB), send(CALLDATA)]
    await pass(1)
    expect([sent.length, await metric('pending_txs')]).toEqual([0, 2])
    gate.resolve()
    await pass(0)
    expect(sent.map((tx) => [tx.nonce, tx.type])).toEqual([
      [7, 3],
      [8, 2],
    ])
    expect(await metric('current_nonce')).toBe(9)
    l1.mine()
    await pass(1)
    expect(await Promise.all(sends)).toMatchObject(sent.map(({ hash }) => ({ transactionHash: hash, blockNumber: 6 })))
    expect(await metric('pending_txs')).toBe(0)
    expect([manager.sending, openTimers()]).toEqual([[], 0])
  })

  it('are shown by nonce', async () => {
    const { manager, send, pass } = createSteppedManager()
    const stop = new AbortController()
    send(CALLDATA, stop.signal)
    send(CALLDATA)
    await pass(0)
    stop.abort(new Error('abandoned'))
    send(CALLDATA)
    await pass(0)
    expect(noncesOf(manager.sending)).toEqual([7, 8])
  })

  it('fail after one that could not be created, but not if they began after its failure', async () => {
    const { l1, sent, send, pass } = createSteppedManager({ maxRetries: 1 })
    l1.onRequest = fault('suggestFees')
    const first = send(calldata(1))
    const second = send(calldata(2))
    first.catch(() => {
      l1.onRequest = async () => undefined
      send(calldata(3))
    })
    await pass(0)
    await expect(first).rejects.toThrow(errorWith('tx-craft'))
    await expect(second).rejects.toThrow(errorWith('tx-predecessor'))
    expect(sent).toMatchObject([{ nonce: 7, data: '0x03' }])
  })

  it('are published again if the pool lost them, also above one that it now refuses', async () => {
    const { manager, l1, sent, send, pass } = createSteppedManager()
    send(CALLDATA)
    send(CALLDATA)
    await pass(1)
    l1.pool.clear()
    l1.refusalOf = ({ nonce }) => (nonce === 7 ? 'the pool is full' : undefined)
    await pass(13)
    expect(noncesOf(sent).filter((nonce) => nonce === 8)).toHaveLength(2)
    expect(noncesOf(manager.sending)).toEqual([7, 8])
  })

  it('begin below the gap that a reorg left', async () => {
    const { l1, sent, send, pass } = createSteppedManager()
    const first = send(CALLDATA)
    await pass(0)
    l1.mine()
    await pass(1)
    await first
    const second = send(CALLDATA)
    await pass(0)
    l1.mined.length = 0
    await pass(14)
    await expect(second).rejects.toThrow(errorWith('tx-aborted', 'nonce gap'))
    send(CALLDATA)
    await pass(0)
    expect(noncesOf(sent)).toEqual([7, 8, 7])
  })
})

describe('a transaction that cannot be created', () => {
  it('is tried again at each retry interval', async () => {
    const { manager, l1, log, sent, send, pass, metric } = createSteppedManager({ maxRetries: 3 })
    l1.onRequest = fault('suggestFees')
    send(CALLDATA)
    for (const failures of [1, 2]) {
      await pass(failures === 1 ? 0 : 1)
      expect(log.of('Failed to create a transaction, will retry')).toHaveLength(failures)
      expect([manager.problem, await metric('rpc_error_count')]).toEqual(['busy', failures])
    }
    l1.onRequest = async () => undefined
    await pass(1)
    expect(sent).toHaveLength(1)
    expect(manager.problem).toBeUndefined()
  })

  it('fails after the last try', async () => {
    const { l1, send, pass, metric } = createSteppedManager({ maxRetries: 2 })
    l1.onRequest = fault('nonceAt')
    const sending = send(CALLDATA)
    await pass(1)
    await expect(sending).rejects.toThrow(errorWith('tx-craft', 'busy'))
    expect(await metric('confirm_total{status="failed"}')).toBe(1)
    expect(await metric('pending_txs')).toBe(0)
  })

  it('ends with the reason of the signal', async () => {
    const { l1, send, pass } = createSteppedManager()
    l1.onRequest = silence('suggestFees')
    const stop = new AbortController()
    const sending = send(CALLDATA, stop.signal)
    await pass(1)
    const reason = new Error('killed')
    stop.abort(reason)
    await expect(sending).rejects.toBe(reason)
  })

  it('may have failed proofs before its turn', async () => {
    const unhandled: unknown[] = []
    const note = (reason: unknown) => unhandled.push(reason)
    process.on('unhandledRejection', note)
    try {
      const { l1, proofs, send, pass } = createSteppedManager()
      const { promise, resolve } = Promise.withResolvers<void>()
      l1.onRequest = () => promise
      send(CALLDATA)
      proofs.gate = Promise.reject(new Error('no memory'))
      const second = send(BLOB)
      await pass(1)
      resolve()
      await pass(0)
      await expect(second).rejects.toThrow(errorWith('tx-craft', 'no memory'))
      expect(unhandled).toEqual([])
    } finally {
      process.off('unhandledRejection', note)
    }
  })
})

describe('the end of a send', () => {
  it('comes with its time limit', async () => {
    const { manager, send, pass } = createSteppedManager({ sendTimeoutMs: 30 * S })
    const sending = send(CALLDATA)
    await pass(29)
    expect(manager.sending).toHaveLength(1)
    await pass(1)
    await expect(sending).rejects.toThrow(errorWith('tx-timeout', 30_000))
    expect(manager.sending).toEqual([])
  })

  it('comes with the end of the manager, which begins no other send', async () => {
    const { manager, proofs, send, pass, metric } = createSteppedManager()
    const { promise, reject } = Promise.withResolvers<void>()
    proofs.gate = promise
    const sending = send(BLOB)
    await pass(0)
    expect(manager.isClosed).toBe(false)
    manager.close()
    expect(manager.isClosed).toBe(true)
    await expect(sending).rejects.toThrow(errorWith('txmgr-closed'))
    reject(new Error('closed too'))
    proofs.gate = Promise.resolve()
    await expect(send(BLOB)).rejects.toThrow(errorWith('txmgr-closed'))
    await pass(0)
    expect(proofs.computed).toEqual([])
    expect(await metric('confirm_total{status="failed"}')).toBe(1)
  })
})
