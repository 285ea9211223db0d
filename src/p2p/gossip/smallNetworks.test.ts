import { describe, expect, it } from 'vitest'
import { serveSmallNetworks } from './smallNetworks.ts'

const TOPIC = '/optimism/901/2/blocks'

/** Peers a to f take part, of whom the library chooses those in the mesh; d is static, e has a bad score, s sent it. */
function setUp(mesh: string[], known: boolean) {
  const target = {
    mesh: new Map(known ? [[TOPIC, new Set(mesh)]] : []),
    topics: new Map(known ? [[TOPIC, new Set(['a', 'b', 'c', 'd', 'e', 'f', 's'])]] : []),
    score: { score: (peerId: string): number => (peerId === 'e' ? -40.1 : -40) },
    selectPeersToForward: (_topic: string, _source?: string, _exclude?: Set<string>): Set<string> => new Set(mesh),
  }
  const { isSmall } = serveSmallNetworks(
    target,
    { isAlwaysServed: (peerId) => peerId === 'd' },
    { meshLow: 3, publishThreshold: -40 },
  )
  return { target, isSmall }
}

describe('serveSmallNetworks', () => {
  it.each([
    ['below the low mark: all but those that have it or are not to be trusted', ['a', 'b'], ['a', 'b', 'c', 'd']],
    ['at the low mark: the mesh, and who is static', ['a', 'b', 'c'], ['a', 'b', 'c', 'd']],
    ['with the static peer in the mesh: the mesh', ['a', 'b', 'd'], ['a', 'b', 'd']],
  ])('passes on, %s', (_, mesh, served) => {
    const { target, isSmall } = setUp(mesh, true)
    expect(isSmall(TOPIC)).toBe(mesh.length < 3)
    expect([...target.selectPeersToForward(TOPIC, 's', new Set(['f']))].sort()).toEqual(served)
  })

  it('takes a topic of which nothing is known for a small network', () => {
    const { target, isSmall } = setUp([], false)
    expect(isSmall(TOPIC)).toBe(true)
    expect(target.selectPeersToForward(TOPIC)).toEqual(new Set())
  })
})
