import { describe, expect, it } from 'vitest'
import { chooseToTrim, type TrimCandidate } from './connectionTrimmer.ts'

const MARKS = { low: 2, high: 4, graceMs: 30_000 }
const NOW = 1_000_000

function peer(id: string, changes: Partial<TrimCandidate> = {}): TrimCandidate {
  return { id, connectedSinceMs: NOW - 60_000, protected: false, inMesh: false, score: 0, ...changes }
}

describe('chooseToTrim', () => {
  it('leaves everybody up to the high mark', () => {
    expect(
      chooseToTrim(
        ['a', 'b', 'c', 'd'].map((id) => peer(id)),
        MARKS,
        NOW,
      ),
    ).toEqual([])
  })
  it('goes down to the low mark above it, worst score first, mesh peers last', () => {
    const peers = [
      peer('mesh', { inMesh: true, score: -5 }),
      peer('good', { score: 3 }),
      peer('bad', { score: -1 }),
      peer('x'),
      peer('y'),
    ]
    expect(chooseToTrim(peers, MARKS, NOW)).toEqual(['bad', 'x', 'y'])
  })
  it('spares the protected, and the new', () => {
    const peers = [
      peer('a', { protected: true, score: -9 }),
      peer('b', { connectedSinceMs: NOW - 1_000, score: -9 }),
      peer('c'),
      peer('d'),
      peer('e', { protected: true }),
    ]
    expect(chooseToTrim(peers, MARKS, NOW)).toEqual(['c', 'd'])
  })
})
