import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { GrowingOutput } from './growingOutput.ts'

const piecesOf = (lengths: number[]) => lengths.map((length, i) => new Uint8Array(length).fill(i + 1))

describe('GrowingOutput', () => {
  it.each([
    { title: 'fit what was expected', lengths: [3, 4] },
    { title: 'fill it exactly', lengths: [5, 5] },
    { title: 'go on over several blocks', lengths: [7, 25, 1, 60] },
    { title: 'are none', lengths: [] },
    { title: 'are empty', lengths: [0, 0] },
    { title: 'are copied in parts', lengths: [3_000_000, 100] },
  ])('joins chunks that $title', async ({ lengths }) => {
    const output = new GrowingOutput(10, 10_000_000)
    for (const piece of piecesOf(lengths)) output.add(piece)
    expect(output.isFull).toBe(false)
    expect(output.length).toBe(lengths.reduce((sum, length) => sum + length, 0))
    expect(Buffer.compare(await output.joined(), concatBytes(...piecesOf(lengths)))).toBe(0)
  })

  it('drops output beyond its limit', async () => {
    const output = new GrowingOutput(10, 32)
    for (const piece of piecesOf([20, 20, 20])) output.add(piece)
    expect(output.isFull).toBe(true)
    expect(await output.joined()).toEqual(concatBytes(...piecesOf([20, 20])).subarray(0, 32))
  })

  it('does not keep references to chunks', async () => {
    const output = new GrowingOutput(10, 32)
    const piece = Uint8Array.of(1, 2, 3)
    output.add(piece)
    piece.fill(9)
    expect(await output.joined()).toEqual(Uint8Array.of(1, 2, 3))
  })
})
