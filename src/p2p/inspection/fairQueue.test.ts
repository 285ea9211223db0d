import { describe, expect, it } from 'vitest'
import { createFairQueue } from './fairQueue.ts'

describe('createFairQueue', () => {
  it('takes items from each peer in turn, the oldest first', () => {
    const queue = createFairQueue<string>({ total: 10, perPeer: 10 })
    for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'c2']) queue.add(item.slice(0, 1), item)
    const taken = Array.from({ length: 4 }, () => queue.take())
    queue.add('b', 'b2')
    expect([...taken, queue.take(), queue.take(), queue.take(), queue.take()]).toEqual([
      ...['a1', 'b1', 'c1', 'a2'],
      ...['c2', 'a3', 'b2', undefined],
    ])
  })

  it('serves the peer with the least recent processing time first, and lets that time decay', () => {
    let nowMs = 0
    const queue = createFairQueue<string>({ total: 10, perPeer: 10 }, () => nowMs)
    const fill = () => {
      for (const item of ['a1', 'a2', 'b1', 'b2']) queue.add(item.slice(0, 1), item)
    }
    const takeAll = () => Array.from({ length: 4 }, () => queue.take())
    fill()
    queue.charge('a', 40)
    queue.charge('b', 6)
    expect(takeAll()).toEqual(['b1', 'b2', 'a1', 'a2'])
    nowMs = 10_000
    queue.charge('b', 6)
    fill()
    expect(takeAll()).toEqual(['a1', 'a2', 'b1', 'b2'])
  })

  it('removes an item', () => {
    const queue = createFairQueue<string>({ total: 10, perPeer: 10 })
    for (const item of ['a1', 'a2', 'b1']) queue.add(item.slice(0, 1), item)
    queue.remove('a1')
    queue.remove('b1')
    expect([queue.take(), queue.take()]).toEqual(['a2', undefined])
  })
})
