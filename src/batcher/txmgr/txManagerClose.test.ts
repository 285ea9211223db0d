import { describe, expect, it } from 'vitest'
import { automine, createManager, data, log, never, useL1 } from '../testUtils/txManagerInTest.ts'

useL1()

describe('closing', () => {
  it('refuses new sends and abandons unmined ones', async () => {
    await automine(false)
    const manager = createManager()
    const sending = manager.send(data(1), never)
    await log.seen('Transaction successfully published')
    manager.close()
    await expect(manager.send(data(2), never)).rejects.toMatchObject({ code: 'txmgr-closed' })
    await expect(sending).rejects.toMatchObject({ code: 'txmgr-closed' })
    expect(manager.sending).toEqual([])
  })

  it('does not wait for confirmations', async () => {
    const manager = createManager({ numConfirmations: 2 })
    const sending = manager.send(data(1), never)
    await log.seen('Transaction is in a block')
    manager.close()
    await expect(sending).rejects.toMatchObject({ code: 'txmgr-closed' })
  })
})
