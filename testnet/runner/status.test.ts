import { describe, expect, it } from 'vitest'
import { countPeers, sharedSafeHeight } from './status.ts'

const node = (name: string, safe?: number) =>
  safe === undefined ? { name } : { name, safe: { number: safe, hash: '0x00' as const } }

describe('sharedSafeHeight', () => {
  it('is the lowest safe head, above genesis', () => {
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b', 3)] })).toBe(3)
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b', 0)] })).toBeUndefined()
    expect(sharedSafeHeight({ nodes: [node('a', 5), node('b')] })).toBeUndefined()
  })
})

describe('countPeers', () => {
  it('counts who is connected, and who is in the mesh', () => {
    const peer = (timeInMesh: number) => ({ scores: { gossip: { total: 0, blocks: { timeInMesh } } } })
    expect(countPeers({ totalConnected: 3, peers: { a: peer(0), b: peer(0.4), c: peer(77) } })).toEqual({
      peers: 3,
      mesh: 2,
    })
  })
})
