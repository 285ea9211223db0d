import { multiaddr } from '@multiformats/multiaddr'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { steppedTimers } from '../testUtils/clocks.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { recordedLog } from '../testUtils/recordedLog.ts'
import { ROUND_MS } from './keptAddresses.ts'

const HOUR_MS = 60 * 60_000
const pass = (hours: number) => vi.setSystemTime(Date.now() + hours * HOUR_MS)

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
})

const rounds = (lines: readonly string[]) =>
  lines.filter((line) => line.includes('Repeated identify with connected peers')).length

describe('the addresses of a peer', () => {
  it('are listed for as long as the peer is connected', async () => {
    const { clock, due } = steppedTimers(ROUND_MS)
    const { logger, lines } = recordedLog('debug')
    const dialled = await nodeInTest()
    const { node, address } = await nodeInTest({ staticPeers: [dialled.address] }, { clock, logger })
    const caller = await nodeInTest({ staticPeers: [address] })
    const addresses = { [dialled.node.peerId]: [dialled.address], [caller.node.peerId]: [caller.address] }
    const listed = async (connectedOnly: boolean): Promise<Record<string, readonly string[] | null>> => {
      const { peers } = await node.peers(connectedOnly)
      return Object.fromEntries(Object.keys(addresses).map((id) => [id, peers[id]?.addresses ?? null]))
    }
    await until('both', async () =>
      Object.values(await listed(true)).every((addresses) => addresses !== null && addresses.length > 0),
    )

    for (let days = 0; days < 2; days++) {
      pass(23)
      due()
      await until('the answers', () => rounds(lines) > days)
    }
    pass(2)
    expect(await listed(true)).toEqual(addresses)
    expect(await listed(false)).toEqual(addresses)
  })

  it('get a new expiry after identify', async () => {
    const { peerStore } = (await rawPeerInTest([])).host
    const { peerId: id } = (await rawPeerInTest([])).host
    const [first, second] = [multiaddr('/ip4/192.0.2.1/tcp/1'), multiaddr('/ip4/192.0.2.1/tcp/2')]
    await peerStore.merge(id, { multiaddrs: [first, second] })
    pass(0.9)
    await peerStore.merge(id, { multiaddrs: [first] })
    pass(0.9)
    expect((await peerStore.get(id)).addresses.map((address) => address.multiaddr)).toEqual([first])
    await peerStore.patch(id, { addresses: [{ multiaddr: first, isCertified: true }] })
    pass(0.9)
    expect((await peerStore.get(id)).addresses).toEqual([{ multiaddr: first, isCertified: true }])
  })
})
