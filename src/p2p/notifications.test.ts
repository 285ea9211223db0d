import { expect, it } from 'vitest'
import { until } from '../lib/testUtils/until.ts'
import type { P2pNotification } from './base/notifications.ts'
import { nodeInTest } from './testUtils/inTest.ts'

it('connections, mesh changes, blocks and disconnections are reported until the listener unsubscribes', async () => {
  const watched = await nodeInTest()
  const received: P2pNotification[] = []
  const end = watched.node.onNotification((one) => received.push(one))
  const { node: peer } = await nodeInTest({ staticPeers: [watched.address] })
  const { peerId: peerID } = peer
  const notified = (event: P2pNotification['event']) =>
    received.find((one) => one.event === event && 'peerID' in one && one.peerID === peerID)
  await until('the mesh', () => notified('graft') !== undefined)
  expect(notified('connected')).toMatchObject({
    direction: 'inbound',
    address: expect.stringContaining('/ip4/127.0.0.1/'),
  })
  const standing = { peerID, score: expect.any(Number), static: false, protected: false, ban: null }
  expect(watched.node.standings()).toEqual([{ ...standing, connected: true, inMesh: true, blocked: false }])
  await watched.node.blockPeer(peerID)
  await until('the end', () => notified('disconnected') !== undefined)
  expect(notified('block')).toEqual({ event: 'block', peerID })
  expect(notified('disconnected')).toMatchObject({ by: 'us' })
  expect(watched.node.standings()).toEqual([{ ...standing, connected: false, inMesh: false, blocked: true }])
  const last = () => received.at(-1)
  await watched.node.blockAddr('::ffff:192.0.2.1')
  expect(last()).toEqual({ event: 'block', ip: '192.0.2.1' })
  await watched.node.unblockAddr('192.0.2.1')
  expect(last()).toEqual({ event: 'unblock', ip: '192.0.2.1' })
  await watched.node.blockSubnet('192.0.2.7/24')
  expect(last()).toEqual({ event: 'block', subnet: '192.0.2.0/24' })
  await watched.node.unblockSubnet('192.0.2.0/24')
  expect(last()).toEqual({ event: 'unblock', subnet: '192.0.2.0/24' })
  end()
  const before = received.length
  await watched.node.unblockPeer(peerID)
  expect(received).toHaveLength(before)
})
