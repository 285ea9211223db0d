import { describe, expect, it } from 'vitest'
import { ReadAhead } from './readAhead.ts'

/** A reader whose reads end when the test says so. */
function readerInTest() {
  const reads: { number: number; resolve(text: string): void; reject(error: Error): void }[] = []
  const read = (number: number) =>
    new Promise<string>((resolve, reject) => {
      reads.push({ number, resolve, reject })
    })
  const numbers = () => reads.map(({ number }) => number)
  const nth = (index: number) => {
    const found = reads[index]
    if (found === undefined) throw new Error(`there were only ${reads.length} reads`)
    return found
  }
  return { read, numbers, nth }
}

describe('ReadAhead', () => {
  it('prefetches up to the window and the last item', async () => {
    const { read, numbers, nth } = readerInTest()
    const ahead = new ReadAhead(read, { window: 3, step: 1 })
    void ahead.take(1, 4)
    expect(numbers()).toEqual([1, 2, 3])
    const second = ahead.take(2, 4)
    void ahead.take(3, 4)
    expect(numbers()).toEqual([1, 2, 3, 4])
    nth(1).resolve('two')
    expect(await second).toBe('two')
  })

  it('reads an item again after its prefetch failed', async () => {
    const { read, numbers, nth } = readerInTest()
    const ahead = new ReadAhead(read, { window: 2, step: -1 })
    void ahead.take(9, 1)
    nth(1).reject(new Error('no answer'))
    await Promise.resolve()
    void ahead.take(8, 8)
    expect(numbers()).toEqual([9, 8, 8])
  })

  it('keeps the new read of an item when the old read fails after clear', async () => {
    const { read, numbers, nth } = readerInTest()
    const ahead = new ReadAhead(read, { window: 2, step: 1 })
    void ahead.take(1, 2)
    ahead.clear()
    void ahead.take(1, 2)
    expect(numbers()).toEqual([1, 2, 1, 2])
    nth(1).reject(new Error('no answer'))
    await Promise.resolve()
    void ahead.take(2, 2)
    expect(numbers()).toEqual([1, 2, 1, 2])
  })
})
