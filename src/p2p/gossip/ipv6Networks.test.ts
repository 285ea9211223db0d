import { describe, expect, it } from 'vitest'
import { hasIpv6 } from '../testUtils/hasIpv6.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { scoreKeeper } from '../testUtils/scoreKeeper.ts'
import { TOPIC } from '../testUtils/testChain.ts'

/** The scores of eleven peers. */
function scoresOf(addresses: (n: number) => string, ipColocationExempt: string[] = []): Set<number> {
  const { score } = scoreKeeper({ scoreBlocks: 'none', ipColocationExempt })
  const peers = Array.from({ length: 11 }, (_, n) => `peer${n}`)
  for (const [n, peer] of peers.entries()) {
    score.addPeer(peer)
    score.addIP(peer, addresses(n))
  }
  return new Set(peers.map((peer) => score.score(peer)))
}

describe('IPv6 networks', () => {
  it.each([
    ['addresses of one network', (n: number) => `2001:db8:1:2::${n + 1}`, -35],
    // Counted at the address and at the network, as in go-libp2p.
    ['one address', () => '2001:db8:1:2::1', -70],
    ['separate networks', (n: number) => `2001:db8:1:${n}::1`, 0],
    ['separate IPv4 addresses', (n: number) => `10.0.0.${n}`, 0],
    ['separate IPv4 addresses in IPv6 form', (n: number) => `::ffff:10.0.0.${n}`, 0],
  ])('peers on %s have the expected penalty', (_id, addresses, score) => {
    expect(scoresOf(addresses)).toEqual(new Set([score]))
  })

  it('does not penalise exempt addresses', () => {
    expect(scoresOf((n) => `2001:db8:1:2::${n + 1}`, ['2001:db8:1::/48'])).toEqual(new Set([0]))
  })

  it.skipIf(!hasIpv6)('lists the network in the parts of a score', async () => {
    const { node } = await nodeInTest({ listenIp: '::1', ipColocationExempt: [] })
    const raw = await rawPeerInTest([TOPIC])
    await raw.connect(node.multiaddrs()[0] ?? '')
    const [report] = await node.peerScore(raw.peerId)
    expect(report?.ipColocation.parts.map(({ ip, peers }) => [ip, peers])).toEqual([
      ['::1', [raw.peerId]],
      ['::/64', [raw.peerId]],
    ])
  })
})
