import { setTimeout as delay } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { until } from '../testUtils/testNode.ts'

const PROTOCOL = '/ipfs/id/1.0.0'
/** Longer than libp2p waits by itself. */
const STANDSTILL_MS = 6_000

it('hears who a peer is that answers after some seconds only', async () => {
  const { node, address } = await nodeInTest()
  const raw = await rawPeerInTest([])
  const { identify } = raw.host.services
  await raw.host.unhandle(PROTOCOL)
  await raw.host.handle(PROTOCOL, async (stream, connection) => {
    await delay(STANDSTILL_MS)
    if (!('handleProtocol' in identify) || typeof identify.handleProtocol !== 'function') return expect.unreachable()
    await identify.handleProtocol(stream, connection)
  })
  await raw.connect(address)
  const agent = async () => (await node.peers(true)).peers[raw.peerId]?.userAgent
  await until('its name', async () => ((await agent()) ?? '') !== '', 2 * STANDSTILL_MS)
}, 20_000)
