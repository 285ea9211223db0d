import { expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'

const PROTOCOL = '/ipfs/id/1.0.0'
/** libp2p's default time limit for an answer. */
const LIBP2P_LIMIT_MS = 5_000

it('identifies a peer that answers after some seconds', async () => {
  const { node, address } = await nodeInTest()
  const raw = await rawPeerInTest([])
  const { identify } = raw.host.services
  await raw.host.unhandle(PROTOCOL)
  await raw.host.handle(PROTOCOL, async (stream, connection) => {
    if (!('handleProtocol' in identify) || typeof identify.handleProtocol !== 'function') return expect.unreachable()
    // Everything that would time out by then times out now.
    late.abort()
    await identify.handleProtocol(stream, connection)
  })
  const late = new AbortController()
  const timeout = AbortSignal.timeout.bind(AbortSignal)
  const spy = vi
    .spyOn(AbortSignal, 'timeout')
    .mockImplementation((ms) => (ms === LIBP2P_LIMIT_MS && !late.signal.aborted ? late.signal : timeout(ms)))
  onTestFinished(() => spy.mockRestore())
  await raw.connect(address)
  const agent = async () => (await node.peers(true)).peers[raw.peerId]?.userAgent
  await until('its name', async () => ((await agent()) ?? '') !== '')
})
