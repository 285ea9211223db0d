import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { JsonRpcError } from '../../lib/jsonRpc/types.ts'
import type { L1Endpoint } from '../l1Endpoint.ts'
import { anvil, anvilForEach, automine, createManager, data, log, mine, never } from '../testUtils/txManagerInTest.ts'
import { until } from '../testUtils/until.ts'
import { L1_SILENCE_LIMIT_MS } from './l1Silence.ts'

anvilForEach()

/** An L1 that mines at once may answer the first question for the receipt before it has; the next one is the clock's. */
const mined = (clock: ManualClock) =>
  until(async () => {
    await clock.advance(100)
    return log.of('Transaction is in a block').length > 0
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
    const clock = new ManualClock()
    const manager = createManager({ numConfirmations: 3, receiptQueryIntervalMs: 60_000 }, undefined, undefined, clock)
    const sending = manager.send(data(1), never)
    const failed = expect(sending).rejects.toMatchObject({ code: 'l1-silent' })
    await mined(clock)
    anvil.process.kill(signal)
    try {
      manager.close()
      const closedAtMs = clock.now()
      await until(async () => {
        await clock.advance(500)
        return manager.sending.length === 0
      })
      await failed
      expect(clock.now() - closedAtMs).toBeLessThan(60_000)
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
    const clock = new ManualClock()
    const refusing = (l1: L1Endpoint): L1Endpoint => ({
      ...l1,
      head: () => Promise.reject(new JsonRpcError(-32005, 'too many requests')),
    })
    const manager = createManager({ numConfirmations: 2, receiptQueryIntervalMs: 100 }, refusing, undefined, clock)
    let ended = false
    const sending = manager.send(data(1), never).finally(() => {
      ended = true
    })
    await mined(clock)
    manager.close()
    await clock.advance(2 * L1_SILENCE_LIMIT_MS)
    expect(ended).toBe(false)
    await mine()
    await until(async () => {
      await clock.advance(100)
      return ended
    })
    expect((await sending).blockNumber).toBe(1)
  })
})
