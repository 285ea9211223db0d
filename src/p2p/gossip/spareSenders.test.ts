import { describe, expect, it } from 'vitest'
import { spareSenders } from './spareSenders.ts'

function setUp(senders: string[] | undefined) {
  const calls: { id: string; source: string | undefined; exclude: string[] }[] = []
  const target = {
    score: { deliveryRecords: { getRecord: () => (senders === undefined ? undefined : { peers: new Set(senders) }) } },
    forwardMessage(id: string, _message: object, source?: string, exclude?: Set<string>): void {
      calls.push({ id, source, exclude: [...(exclude ?? [])] })
    },
  }
  spareSenders(target)
  return { target, calls }
}

describe('spareSenders', () => {
  it('sends a block to nobody who has sent it meanwhile', () => {
    const { target, calls } = setUp(['b', 'c'])
    target.forwardMessage('block', {}, 'a', new Set(['d']))
    expect(calls).toEqual([{ id: 'block', source: 'a', exclude: ['d', 'b', 'c'] }])
  })

  it('lets the rest be as it is where nobody has', () => {
    const { target, calls } = setUp(undefined)
    target.forwardMessage('block', {})
    expect(calls).toEqual([{ id: 'block', source: undefined, exclude: [] }])
  })
})
