import { describe, expect, it } from 'vitest'
import { fakeGenesis, withHash } from '../engine/testUtils/fakeEngine.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'
import { UnsafeQueue } from './unsafeQueue.ts'

function block(blockNumber: number, transactionBytes = 0, gasUsed = 0n): PayloadEnvelope {
  const { payload, ...rest } = fakeGenesis(1, 1n)
  const transactions = transactionBytes === 0 ? [] : [new Uint8Array(transactionBytes)]
  return withHash({ ...rest, payload: { ...payload, blockNumber, gasUsed, transactions } })
}

function drain(queue: UnsafeQueue): number[] {
  const numbers: number[] = []
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) numbers.push(next.payload.blockNumber)
  return numbers
}

describe('UnsafeQueue', () => {
  it('gives the lowest number first, equal numbers in order of arrival', () => {
    const queue = new UnsafeQueue()
    const [first, second] = [block(5), block(5, 0, 1n)]
    for (const envelope of [block(7), first, block(6), second]) queue.add(envelope)
    expect(queue.peek()).toBe(first)
    queue.pop()
    expect(queue.peek()).toBe(second)
    expect(drain(queue)).toEqual([5, 6, 7])
    expect(queue.sizeBytes).toBe(0)
  })

  it('refuses a duplicate, and accepts it after its removal', () => {
    const queue = new UnsafeQueue()
    expect(queue.add(block(1))).toBe(true)
    expect(queue.add(block(1))).toBe(false)
    queue.pop()
    expect(queue.add(block(1))).toBe(true)
  })

  it('counts bytes like op-node, and drops the lowest numbers when full', () => {
    const queue = new UnsafeQueue(3 * (1000 + 100 + 24))
    for (const number of [4, 5, 6]) queue.add(block(number, 100))
    expect(queue.sizeBytes).toBe(3 * 1124)
    expect(queue.add(block(7, 100))).toBe(true)
    // A block lower than all others is evicted at once.
    expect(queue.add(block(3, 100))).toBe(false)
    expect(drain(queue)).toEqual([5, 6, 7])
  })

  it('refuses a block larger than the queue, and keeps the others', () => {
    const queue = new UnsafeQueue(3000)
    queue.add(block(1))
    expect(queue.add(block(2, 5000))).toBe(false)
    expect(queue.length).toBe(1)
  })
})
