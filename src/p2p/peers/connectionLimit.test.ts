import { randomBytes } from 'node:crypto'
import { multiaddr } from '@multiformats/multiaddr'
import { expect, it } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { maxPeers } from '../host/host.ts'
import { identityFromRawKey } from '../host/identity.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'

it("a node at its peer limit still accepts static peers, and dials on the operator's command", async () => {
  const key = new Uint8Array(randomBytes(32))
  const staticId = identityFromRawKey(key).peerId.toString()
  // No node listens at that address, so only the peer can dial.
  const victim = await nodeInTest({
    peersLow: 1,
    peersHigh: 1,
    staticPeers: [`/ip4/127.0.0.1/tcp/1/p2p/${staticId}`],
  })
  const others = await Promise.all(Array.from({ length: maxPeers(1) }, () => rawPeerInTest([])))
  await Promise.all(others.map(({ host }) => host.dial(multiaddr(victim.address))))
  await until('all places are taken', () => victim.node.connectedPeers().length === maxPeers(1))

  const other = await nodeInTest()
  await victim.node.connectPeer(other.address)
  expect(victim.node.connectedPeers()).toContain(other.node.peerId)
  const friend = await nodeInTest({ privateKey: key, staticPeers: [victim.address] })
  await until('the static peer is in', () => victim.node.connectedPeers().includes(staticId))
  expect(friend.node.peerId).toBe(staticId)
  // Other peers were trimmed.
  await until('the other peers are disconnected', () => victim.node.connectedPeers().length < maxPeers(1))
})
