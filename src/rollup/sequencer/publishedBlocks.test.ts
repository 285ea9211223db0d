import { describe, expect, it } from 'vitest'
import type { Hex } from '../../lib/hex.ts'
import { fakeGenesis } from '../engine/testUtils/fakeEngine.ts'
import type { PayloadEnvelope } from '../protocol/types.ts'
import { addPublished, childOf, dropFrom, type PublishedBlocks } from './publishedBlocks.ts'

const { payload: GENESIS } = fakeGenesis(0, 30_000_000n)
const hash = (number: number): Hex => `0x${number.toString(16).padStart(64, '0')}`

function block(number: number, bytes = 0): PayloadEnvelope {
  const transactions = [new Uint8Array(bytes)]
  return {
    payload: { ...GENESIS, blockNumber: number, blockHash: hash(number), parentHash: hash(number - 1), transactions },
  }
}

function chain(first: number, last: number, bytes = 0): PublishedBlocks {
  let blocks: PublishedBlocks = []
  for (let number = first; number <= last; number++) blocks = addPublished(blocks, block(number, bytes))
  return blocks
}
const numbers = (blocks: PublishedBlocks) => blocks.map(({ payload }) => payload.blockNumber)

describe('published blocks', () => {
  it('keep the last 128 blocks and 32 MiB of one chain', () => {
    expect(numbers(chain(1, 200))).toEqual(Array.from({ length: 128 }, (_, index) => index + 73))
    expect(numbers(chain(1, 9, 10 * 1024 * 1024))).toEqual([7, 8, 9])
    // The newest block is kept regardless of its size.
    expect(numbers(chain(1, 2, 40 * 1024 * 1024))).toEqual([2])
    expect(numbers(addPublished(chain(1, 5), block(9)))).toEqual([9])
  })

  it('are found by their parent', () => {
    expect(childOf(chain(1, 5), hash(3))?.payload.blockNumber).toBe(4)
    expect(childOf(chain(1, 5), hash(5))).toBeUndefined()
  })

  it('end at the block where the chain differs', () => {
    const blocks = chain(1, 5)
    expect(numbers(dropFrom(blocks, { number: 3, hash: hash(99) }, false))).toEqual([1, 2])
    expect(dropFrom(blocks, { number: 3, hash: hash(3) }, false)).toBe(blocks)
    expect(numbers(dropFrom(blocks, { number: 3, hash: hash(3) }, true))).toEqual([1, 2, 3])
    expect(dropFrom(blocks, { number: 8, hash: hash(8) }, true)).toEqual(blocks)
  })
})
