import { describe, expect, it } from 'vitest'
import { turnsPass } from '../../lib/nextTurn.ts'
import { orderForwarding } from './forwardOrder.ts'

const MESSAGE = { topic: 'blocks' }

/** Peers a to d in the mesh; `sent`: message → who has sent it. */
function setUp(sent: Record<string, string[]>) {
  const calls: { id: string; source: string | undefined; to: string[] }[] = []
  const records = new Map(Object.entries(sent).map(([id, peers]) => [id, { peers: new Set(peers) }]))
  const target = {
    score: { deliveryRecords: { getRecord: (id: string) => records.get(id) } },
    selectPeersToForward: (_topic: string, source?: string, exclude?: ReadonlySet<string>) =>
      new Set(['a', 'b', 'c', 'd'].filter((peerId) => peerId !== source && exclude?.has(peerId) !== true)),
    forwardMessage(id: string, message: { topic: string }, source?: string, exclude?: Set<string>): void {
      calls.push({ id, source, to: [...target.selectPeersToForward(message.topic, source, exclude)] })
    },
  }
  orderForwarding(target)
  return { target, calls, records }
}

const manyTurns = (): Promise<void> => turnsPass(10)

describe('orderForwarding', () => {
  it('sends a block to nobody who has sent it meanwhile', async () => {
    const { target, calls } = setUp({ first: ['a', 'b', 'c'] })
    target.forwardMessage('first', MESSAGE, 'a')
    await manyTurns()
    expect(calls).toEqual([{ id: 'first', source: 'a', to: ['d'] }])
  })

  it('sends it to all the others at once when nothing is known of an earlier one', async () => {
    const { target, calls } = setUp({})
    target.forwardMessage('first', MESSAGE, 'a', new Set(['d']))
    await manyTurns()
    expect(calls).toEqual([{ id: 'first', source: 'a', to: ['b', 'c'] }])
  })

  it('sends it first to those who sent no copy of the last one, and then to the rest', async () => {
    const { target, calls } = setUp({ first: ['a', 'c'], second: ['a'] })
    target.forwardMessage('first', MESSAGE, 'a')
    target.forwardMessage('second', MESSAGE, 'a')
    expect(calls.slice(1)).toEqual([{ id: 'second', source: 'a', to: ['b', 'd'] }])
    await manyTurns()
    expect(calls.slice(2)).toEqual([{ id: 'second', source: undefined, to: ['c'] }])
  })

  it('leaves out who has sent it before its turn came', async () => {
    const { target, calls, records } = setUp({ first: ['a', 'b', 'c'], second: ['a'] })
    target.forwardMessage('first', MESSAGE, 'a')
    target.forwardMessage('second', MESSAGE, 'a')
    records.get('second')?.peers.add('c')
    await manyTurns()
    expect(calls.slice(2)).toEqual([{ id: 'second', source: undefined, to: ['b'] }])
  })

  it('keeps topics apart', async () => {
    const { target, calls } = setUp({ first: ['a', 'b', 'c'] })
    target.forwardMessage('first', MESSAGE, 'a')
    target.forwardMessage('second', { topic: 'others' }, 'a')
    expect(calls.slice(1)).toEqual([{ id: 'second', source: 'a', to: ['b', 'c', 'd'] }])
  })
})
