import { describe, expect, it } from 'vitest'
import type { Hex } from '../lib/hex.ts'
import { nextTurn } from '../lib/nextTurn.ts'
import type { L1BlockInfo } from '../rollup/protocol/types.ts'
import { type AheadL1, createReadAhead } from './readAhead.ts'

const hashOf = (number: number, fork = 0): Hex =>
  `0x${fork.toString(16).padStart(2, '0')}${number.toString(16).padStart(62, '0')}`

/** A chain with forks: raising `fork` replaces the blocks from `forkedFrom` on. */
function fakeL1(length: number) {
  const state = { length, forkedFrom: Number.POSITIVE_INFINITY, fork: 0, weight: 1, fails: false }
  const calls: string[] = []
  const block = (number: number): L1BlockInfo | undefined => {
    if (number >= state.length) return undefined
    const forkAt = (at: number) => (at >= state.forkedFrom ? state.fork : 0)
    return {
      number,
      hash: hashOf(number, forkAt(number)),
      parentHash: hashOf(number - 1, forkAt(number - 1)),
      timestamp: number * 12,
      mixHash: hashOf(0),
      baseFeePerGas: 1n,
    }
  }
  const byHash = (hash: Hex) => {
    const found = block(Number.parseInt(hash.slice(4), 16))
    return found?.hash === hash ? found : undefined
  }
  const cachedHeaders = new Set<Hex>()
  const l1: AheadL1 = {
    async blockInfoByHash(hash) {
      if (!cachedHeaders.has(hash)) calls.push(`header ${byHash(hash)?.number}`)
      return byHash(hash)
    },
    async blockInfoByNumber(number) {
      calls.push(`number ${number}`)
      const found = block(number)
      if (found !== undefined) cachedHeaders.add(found.hash)
      return found
    },
    fetchBlocks(numbers) {
      calls.push(`blocks ${numbers[0]}-${numbers.at(-1)}`)
      return numbers.map(async (number) => {
        if (state.fails) throw new Error('down')
        return block(number)
      })
    },
    blockWeight: () => state.weight,
    async transactions(hash) {
      const info = byHash(hash)
      if (info === undefined) throw new Error('gone')
      return { info, transactions: [] }
    },
    async receipts(hash) {
      const info = byHash(hash)
      if (info === undefined) throw new Error('gone')
      calls.push(`receipts ${info.number}`)
      return { info, receipts: [] }
    },
  }
  const ref = (number: number): L1BlockInfo => {
    const found = block(number)
    if (found === undefined) throw new Error(`no block ${number}`)
    return found
  }
  return { l1, calls, state, ref }
}

describe('reading ahead', () => {
  it('fetches the next blocks and their receipts together, and never what the reader has requested already', async () => {
    const { l1, calls, ref } = fakeL1(200)
    const heard: number[] = []
    const ahead = createReadAhead(l1, ({ number }) => heard.push(number), { maxWindow: 64 })
    ahead.onHead(ref(199))
    for (let number = 10; number < 200; number++) {
      expect((await ahead.blockInfoByNumber(number))?.hash).toBe(hashOf(number))
      await nextTurn()
    }
    expect(calls.filter((call) => call.startsWith('number'))).toEqual(['number 10'])
    expect(calls.filter((call) => call.startsWith('blocks'))).toEqual([
      'blocks 11-74',
      'blocks 75-90',
      'blocks 91-106',
      'blocks 107-122',
      'blocks 123-138',
      'blocks 139-154',
      'blocks 155-170',
      'blocks 171-186',
      'blocks 187-199',
    ])
    const receipts = calls.filter((call) => call.startsWith('receipts')).map((call) => Number(call.split(' ')[1]))
    expect(receipts).toEqual(Array.from({ length: 189 }, (_, index) => 11 + index))
    expect(heard).toEqual(receipts)
  })

  it('reads less ahead of a busy L1, and nothing before the head is known', async () => {
    const { l1, calls, state, ref } = fakeL1(200)
    const ahead = createReadAhead(l1)
    await ahead.blockInfoByNumber(5)
    expect(calls).toEqual(['number 5'])
    state.weight = 60
    ahead.onHead(ref(199))
    await ahead.blockInfoByNumber(6)
    expect(calls.at(1)).toBe('blocks 7-14')
    state.weight = 1_000
    await ahead.blockInfoByNumber(100)
    expect(calls.findLast((call) => call.startsWith('blocks'))).toBe('blocks 101-108')
  })

  it('fetches a new head at once when it is waited for', async () => {
    const { l1, calls, state, ref } = fakeL1(10)
    const ahead = createReadAhead(l1)
    ahead.onHead(ref(9))
    await ahead.blockInfoByNumber(9)
    expect(await ahead.blockInfoByNumber(10)).toBeUndefined()
    state.length = 11
    calls.length = 0
    ahead.onHead(ref(10))
    expect((await ahead.blockInfoByNumber(10))?.hash).toBe(hashOf(10))
    await nextTurn()
    expect(calls).toEqual(['blocks 10-10', 'receipts 10'])
  })

  it('requests again what could not be fetched', async () => {
    const { l1, calls, state, ref } = fakeL1(30)
    const ahead = createReadAhead(l1)
    ahead.onHead(ref(29))
    state.fails = true
    await ahead.blockInfoByNumber(1)
    await nextTurn()
    expect((await ahead.blockInfoByNumber(2))?.hash).toBe(hashOf(2))
    state.fails = false
    for (const number of [3, 4, 5]) expect((await ahead.blockInfoByNumber(number))?.hash).toBe(hashOf(number))
    expect(calls.filter((call) => !call.startsWith('receipts'))).toEqual([
      'blocks 2-29',
      'number 1',
      'number 2',
      'blocks 4-29',
      'number 3',
    ])
  })

  it('forgets what a reorg may have replaced, and everything when the reader begins anew', async () => {
    const { l1, state, ref } = fakeL1(60)
    const ahead = createReadAhead(l1)
    ahead.onHead(ref(59))
    await ahead.blockInfoByNumber(1)
    await nextTurn()
    Object.assign(state, { forkedFrom: 20, fork: 1, length: 62 })
    ahead.onHead(ref(61))
    for (let number = 2; number < 62; number++) {
      expect((await ahead.blockInfoByNumber(number))?.hash).toBe(ref(number).hash)
    }
    // This head has not been reported: the reader finds a block that does not follow, and goes back.
    await ahead.blockInfoByNumber(1)
    await nextTurn()
    state.fork = 2
    expect((await ahead.blockInfoByNumber(2))?.hash).toBe(hashOf(2))
    expect((await ahead.blockInfoByNumber(1))?.hash).toBe(hashOf(1))
    for (let number = 2; number < 62; number++) {
      expect((await ahead.blockInfoByNumber(number))?.hash).toBe(ref(number).hash)
    }
  })
})

describe('reading back', () => {
  it('fetches the parents of a second block in a row together', async () => {
    const { l1, calls } = fakeL1(200)
    const ahead = createReadAhead(l1)
    for (let number = 150; number >= 80; number--) {
      expect((await ahead.blockInfoByHash(hashOf(number)))?.number).toBe(number)
    }
    expect(calls.filter((call) => call.startsWith('header'))).toEqual(['header 150', 'header 149'])
    const numbers = calls.filter((call) => call.startsWith('number')).map((call) => Number(call.split(' ')[1]))
    expect(numbers).toEqual(Array.from({ length: 96 }, (_, index) => 148 - index))
  })

  it('ends at the first block of L1, and does nothing for other readers', async () => {
    const { l1, calls } = fakeL1(200)
    const ahead = createReadAhead(l1)
    for (const number of [10, 11, 12, 50, 20, 20]) await ahead.blockInfoByHash(hashOf(number))
    expect(calls.filter((call) => call.startsWith('number'))).toEqual([])
    for (const number of [3, 2, 1, 0]) await ahead.blockInfoByHash(hashOf(number))
    expect(calls.filter((call) => call.startsWith('number'))).toEqual(['number 1', 'number 0'])
    expect(await ahead.blockInfoByHash(hashOf(10, 7))).toBeUndefined()
  })
})
