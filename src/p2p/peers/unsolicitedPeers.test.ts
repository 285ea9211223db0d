import { describe, expect, it } from 'vitest'
import { createUnsolicitedPeers } from './unsolicitedPeers.ts'

function setUp(known: readonly string[] = [], undialable: readonly string[] = []) {
  const removed: string[] = []
  const unsolicitedPeers = createUnsolicitedPeers(
    {
      isUnsolicited: (peer) => !known.includes(peer),
      isDialable: async (peer) => !undialable.includes(peer),
      async remove(peer) {
        removed.push(peer)
      },
      onError(error) {
        throw error
      },
    },
    { limit: 2 },
  )
  return { unsolicitedPeers, removed }
}

describe('createUnsolicitedPeers', () => {
  it('above the limit, removes the peer that has been disconnected longest', () => {
    const { unsolicitedPeers, removed } = setUp()
    for (const peer of ['a', 'b', 'a', 'c', 'd']) unsolicitedPeers.onDisconnected(peer)
    expect(removed).toEqual(['b', 'a'])
  })

  it('keeps connected peers', () => {
    const { unsolicitedPeers, removed } = setUp()
    unsolicitedPeers.onDisconnected('a')
    unsolicitedPeers.onConnected('a')
    for (const peer of ['b', 'c', 'd']) unsolicitedPeers.onDisconnected(peer)
    expect(removed).toEqual(['b'])
  })

  it('removes a peer without a dialable address at once, unless it has reconnected', async () => {
    const { unsolicitedPeers, removed } = setUp([], ['a', 'b'])
    unsolicitedPeers.onDisconnected('a')
    unsolicitedPeers.onDisconnected('b')
    unsolicitedPeers.onConnected('b')
    unsolicitedPeers.onDisconnected('c')
    await new Promise((resolve) => setImmediate(resolve))
    expect(removed).toEqual(['a'])
  })

  it('keeps peers that the operator named', () => {
    const { unsolicitedPeers, removed } = setUp(['a'])
    for (const peer of ['a', 'b', 'c']) unsolicitedPeers.onDisconnected(peer)
    expect(removed).toEqual([])
  })
})
