import { describe, expect, it } from 'vitest'
import { until } from '../../src/lib/testUtils/until.ts'
import type { PeerRecord } from '../../src/p2p/base/schemas.ts'
import { testBlocks, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { envelopeFromJson, type GoPeer } from './goPeerProcess.ts'
import { FORK_OF, meshed, type OurNode, setStage, signed, VERSIONS } from './goPeerSetup.ts'

/** `testConfig` has its genesis a thousand blocks ago: these are the last minute's. */
const FIRST = 990

describe('payload_by_number with go-libp2p', () => {
  const stage = setStage()

  describe.each(['', '/'] as const)('with the protocol suffix "%s"', (spelling) => {
    it.each(VERSIONS)('we serve blocks of version %i', async (version) => {
      const config = testConfig(FORK_OF[version])
      const [block] = testBlocks(config, FIRST, FIRST)
      if (block === undefined) throw new Error('no block')
      const [ours, go] = await Promise.all([
        stage.ours(config, {}, { payloadByNumber: async (number) => (number === FIRST ? block : undefined) }),
        stage.go(),
      ])
      await go.connect(ours.address)
      const request = (number: number) => go.request({ peer: ours.node.peerId, number, spelling, container: version })
      const answer = await request(FIRST)
      expect(answer).toMatchObject({ code: 0, version: version >= 3 ? 1 : 0 })
      expect(answer.block === null ? undefined : envelopeFromJson(answer.block)).toEqual(block)
      // Not here; of the future.
      expect(await request(FIRST - 1)).toMatchObject({ code: 1, block: null })
      expect(await request(1_000_000)).toMatchObject({ code: 2, block: null })
    })

    it.each(VERSIONS)('we request blocks of version %i', async (version) => {
      const config = testConfig(FORK_OF[version])
      const blocks = testBlocks(config, FIRST, FIRST + 3)
      const [ours, go] = await Promise.all([stage.ours(config), stage.go({ spellings: [spelling] })])
      await go.connect(ours.address)
      await meshed(ours, [go], version)
      await go.serve(blocks.slice(0, 3))
      const [last] = blocks.slice(3)
      if (last === undefined) throw new Error('no block')
      await go.publish(signed(last, version))
      await until('the last block', () => ours.received.length === 1)
      ours.node.requestRange(FIRST, FIRST + 3)
      await until('the others', () => ours.received.length === 4)
      expect(ours.received).toEqual(blocks.toReversed())
      // The block may have been faster than the line that says so.
      await go.event('asked', ({ number }) => number === FIRST)
      const requests = go.events.filter(({ event }) => event === 'asked')
      expect(requests.map(({ number }) => number)).toEqual([FIRST + 2, FIRST + 1, FIRST])
      expect(requests[0]?.protocol).toBe(`/opstack/req/payload_by_number/901/0${spelling}`)
      expect(await scoresOf(ours, go)).toMatchObject({ errorResponses: 0, rejectedPayloads: 0 })
    })
  })

  it('a peer without the block gets one request and no penalty, and another peer gets the next request', async () => {
    const config = testConfig('holocene')
    const [block, last] = testBlocks(config, FIRST, FIRST + 1)
    if (block === undefined || last === undefined) throw new Error('no block')
    const [ours, without, holder] = await Promise.all([stage.ours(config), stage.go(), stage.go()])
    await without.connect(ours.address)
    await meshed(ours, [without], 3)
    await without.publish(signed(last, 3))
    await until('the last block', () => ours.received.length === 1)
    ours.node.requestRange(FIRST, FIRST + 1)
    await without.event('asked', ({ number }) => number === FIRST)

    await holder.serve([block])
    await holder.connect(ours.address)
    await until('the connection', () => ours.node.connectedPeers().length === 2)
    ours.node.requestRange(FIRST, FIRST + 1)
    await until('the block', () => ours.received.length === 2)
    expect(ours.received[1]).toEqual(block)
    expect(await scoresOf(ours, without)).toMatchObject({ errorResponses: 0 })
    expect((await scoresOf(ours, holder))?.validResponses).toBeGreaterThan(0)
  })
})

async function scoresOf(ours: OurNode, go: GoPeer): Promise<PeerRecord['scores']['reqResp'] | undefined> {
  return (await ours.node.peers(true)).peers[go.peerId]?.scores.reqResp
}
