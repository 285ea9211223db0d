import { randomBytes } from 'node:crypto'
import { ConnectionClosedError, StreamResetError } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import { beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { silentLogger } from '../../lib/logger.ts'
import { until } from '../../lib/testUtils/until.ts'
import type { PayloadEnvelope, RollupConfig } from '../../rollup/protocol/types.ts'
import type { P2pChain, P2pOptions } from '../base/options.ts'
import { readAll } from '../base/streams.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { expectDelivery } from '../testUtils/network.ts'
import { decodeResponse } from '../testUtils/responses.ts'
import { SEQUENCER_KEY, testBlock, testBlocks, testChain, testConfig } from '../testUtils/testChain.ts'
import type { TestNode } from '../testUtils/testNode.ts'
import { isConnectionLost } from './blockSync.ts'
import { encodeRequest, payloadByNumberProtocols } from './payloadByNumber.ts'
import { createPayloadServer } from './server.ts'

const start = (options: Partial<P2pOptions>, chain: P2pChain): Promise<TestNode> => nodeInTest(options, { chain })

let config: RollupConfig
let chain: PayloadEnvelope[]
let last: PayloadEnvelope
let serving: P2pChain
/** The last block of each test's chain is from now: a minute later gossip refuses it. */
beforeEach(() => {
  config = testConfig('holocene', { genesis: { ...testConfig().genesis, l2Time: Math.floor(Date.now() / 1000) - 30 } })
  chain = testBlocks(config, 1, 30)
  const top = chain.at(-1)
  if (top === undefined) throw new Error('no block')
  last = top
  serving = testChain(config, { payloadByNumber: async (number) => chain[number - 1] })
})

/** Number of blocks served. */
const served = ({ metric }: TestNode): Promise<number> =>
  metric('p2p_req_total{p2p_role="server",p2p_method="payload_by_number",result_code="0"}')

/** True: a peer that serves no blocks lost points. It may have gained some by time in mesh. */
async function blamed(by: TestNode, peer: TestNode): Promise<boolean> {
  const [report] = await by.node.peerScore(peer.node.peerId)
  expect(report?.servesBlocks).toBe(false)
  return (report?.total ?? -1) < 0
}

it.each([
  ['a closed connection', 'closed', new StreamResetError(), true],
  ['an open connection whose multiplexer has ended', 'open', new ConnectionClosedError(), true],
  ['a stream that the peer resets', 'open', new StreamResetError(), false],
] as const)('a failed request on %s', (_, status, error, isLost) => {
  expect(isConnectionLost({ status }, error)).toBe(isLost)
})

describe('gap filling', () => {
  it('requests exactly the blocks below a gossiped block', async () => {
    const a = await start({ sequencerKey: SEQUENCER_KEY }, serving)
    const b = await start({ staticPeers: [a.address] }, testChain(config))
    await until('a mesh', () => a.node.meshSize() === 1)

    b.node.requestRange(20, 30)
    b.node.requestRange(8, 9, chain[8])
    await b.block(chain[7]?.payload.blockHash ?? '')
    expect(b.received.splice(0)).toEqual([chain[7]])
    expect(await served(a)).toBe(1)

    await expectDelivery(a, b, last)
    b.node.requestRange(20, 30)
    const twentieth = chain[19]
    expect(await b.block(twentieth?.payload.blockHash ?? '')).toEqual(twentieth)
    expect(b.received.map(({ payload }) => payload.blockNumber)).toEqual([30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20])
    const record = (await b.node.peers(true)).peers[a.node.peerId]
    expect(record?.scores.reqResp.validResponses).toBeGreaterThan(5)
    await until('the score to follow', async () => {
      const peer = (await b.node.peers(true)).peers[a.node.peerId]
      return (peer?.scores.gossip.total ?? 0) > 2
    })
    expect(await served(a)).toBe(11)
    expect(await b.metric('unsafe_payloads_total')).toBe(12)
  })

  it('requests from another peer when a peer lacks the block or sends a false block', async () => {
    const forged = (number: number) =>
      testBlock(config, { blockNumber: number, timestamp: config.genesis.l2Time + number })
    const honest = await start({ sequencerKey: SEQUENCER_KEY }, serving)
    const empty = await start({}, testChain(config))
    const liar = await start({}, testChain(config, { payloadByNumber: async (number) => forged(number) }))
    const b = await start({ staticPeers: [honest.address, empty.address, liar.address] }, testChain(config))
    await until('meshes', () => b.node.meshSize() === 3)
    await expectDelivery(honest, b, last)
    b.node.requestRange(25, 30)
    const lowest = chain[24]
    await b.block(lowest?.payload.blockHash ?? '')
    const numbers = b.received.map(({ payload }) => payload.blockNumber)
    expect(numbers.sort((x, y) => x - y)).toEqual([25, 26, 27, 28, 29, 30])
    const { peers } = await b.node.peers(true)
    expect(peers[empty.node.peerId]?.scores.reqResp.errorResponses).toBe(0)
    expect(peers[liar.node.peerId]?.scores.reqResp.rejectedPayloads).toBeGreaterThan(0.5)
  })

  it('rejects withdrawals that the block hash does not cover, and penalises the peer', async () => {
    const isthmus = testConfig('isthmus', { genesis: config.genesis })
    const blocks = testBlocks(isthmus, 1, 5)
    const [above] = blocks.slice(-1)
    if (above === undefined) throw new Error('no block')
    const withdrawals = [{ index: 1n, validatorIndex: 2n, address: above.payload.feeRecipient, amount: 3n }]
    const poisoned = async (number: number) => {
      const block = blocks[number - 1]
      return block === undefined ? undefined : { ...block, payload: { ...block.payload, withdrawals } }
    }
    const liar = await start({}, testChain(isthmus, { payloadByNumber: poisoned }))
    const b = await start({ staticPeers: [liar.address] }, testChain(isthmus))
    await until('the connection', () => b.node.connectedPeers().length === 1)
    b.node.requestRange(4, 5, above)
    const details = async () => (await b.events(liar.node.peerId)).map(({ detail }) => detail).join()
    await until('the blame', async () => (await details()).includes('block 4 has withdrawals'))
    const { peers } = await b.node.peers(true)
    expect(peers[liar.node.peerId]?.scores.reqResp.errorResponses).toBeGreaterThan(0)
    expect(b.received).toEqual([])
  })

  it('serves valid blocks that the engine does not have yet', async () => {
    const a = await start({}, serving)
    const b = await start({ staticPeers: [a.address] }, testChain(config))
    const c = await start({ staticPeers: [b.address] }, testChain(config))
    await until('connections', () => b.node.connectedPeers().length === 2)
    c.node.requestRange(25, 30, last)
    b.node.requestRange(25, 30, last)
    await c.block(chain[24]?.payload.blockHash ?? '')
    expect(c.received.map(({ payload }) => payload.blockNumber)).toEqual([29, 28, 27, 26, 25])
    const { peers } = await c.node.peers(true)
    expect(peers[b.node.peerId]?.scores.reqResp.errorResponses).toBe(0)
  })

  it.each([
    ['regolith', 'with a slash at its end'],
    ['canyon', 'without'],
    ['ecotone', 'with a slash at its end'],
    ['isthmus', 'without'],
    ['jovian', 'with a slash at its end'],
  ] as const)('requests on %s from a peer with only the protocol %s', async (fork, spelling) => {
    const forkConfig = testConfig(fork, { genesis: config.genesis })
    const blocks = testBlocks(forkConfig, 1, 5)
    const [above] = blocks.slice(-1)
    if (above === undefined) throw new Error('no block')
    const raw = await rawPeerInTest([])
    const [plain, slashed] = payloadByNumberProtocols(config.l2ChainId)
    const answer = createPayloadServer({
      chain: testChain(forkConfig, { payloadByNumber: async (number) => blocks[number - 1] }),
      recent: () => undefined,
      clock: systemClock,
      logger: silentLogger,
      metrics: { onRequest() {} },
      onOversized() {},
    })
    await raw.host.handle(spelling === 'without' ? plain : slashed, answer)
    const b = await start({}, testChain(forkConfig))
    await raw.host.dial(multiaddr(b.address))
    await until('the connection', () => b.node.connectedPeers().length === 1)
    b.node.requestRange(2, 5, above)
    await b.block(blocks[1]?.payload.blockHash ?? '')
    expect(b.received).toEqual([blocks[3], blocks[2], blocks[1]])
  })

  it('does not penalise a peer that serves no requests', async () => {
    const a = await start({ sync: { enabled: false, onlyStatic: false } }, serving)
    const b = await start({ staticPeers: [a.address] }, testChain(config))
    const honest = await start({ staticPeers: [b.address] }, serving)
    await until('connections', () => b.node.connectedPeers().length === 2)
    b.node.requestRange(27, 30, last)
    await b.block(chain[26]?.payload.blockHash ?? '')
    expect(await blamed(b, a)).toBe(false)
    expect((await b.node.peerScore(honest.node.peerId))[0]?.servesBlocks).toBe(true)
    const { peers } = await b.node.peers(true)
    expect(peers[a.node.peerId]?.scores.reqResp.errorResponses).toBe(0)
    expect(peers[honest.node.peerId]?.scores.reqResp.validResponses).toBeGreaterThan(1)
  })

  it('returns false when no peer serves requests, without a log line or a penalty', async () => {
    const a = await start({ sync: { enabled: false, onlyStatic: false } }, serving)
    const b = await start({ staticPeers: [a.address] }, testChain(config))
    await until('the connection', () => b.node.connectedPeers().length === 1)
    await until('the refusal', () => !b.node.requestRange(27, 30, last))
    expect(await blamed(b, a)).toBe(false)
  })

  it('requests blocks of a megabyte', async () => {
    const transactions = Array.from({ length: 5_000 }, (_, n) => new Uint8Array(randomBytes(150 + (n % 100))))
    const timeOf = (number: number) => config.genesis.l2Time + number
    const large = testBlock(config, { blockNumber: 10, timestamp: timeOf(10), transactions })
    const { blockHash } = large.payload
    const above = testBlock(config, { blockNumber: 11, timestamp: timeOf(11), parentHash: blockHash })
    const a = await start({}, testChain(config, { payloadByNumber: async () => large }))
    const b = await start({ staticPeers: [a.address] }, testChain(config))
    await until('the connection', () => b.node.connectedPeers().length === 1)
    const arrived = b.block(blockHash)
    b.node.requestRange(10, 11, above)
    expect(await arrived).toEqual(large)
  })

  it('requests from static peers only, if configured', async () => {
    const staticPeer = await start({}, serving)
    const b = await start(
      { staticPeers: [staticPeer.address], sync: { enabled: true, onlyStatic: true } },
      testChain(config),
    )
    const unknownPeer = await start({ staticPeers: [b.address] }, serving)
    await until('the connections', () => b.node.connectedPeers().length === 2)
    b.node.requestRange(17, 30, last)
    await b.block(chain[16]?.payload.blockHash ?? '')
    expect([await served(staticPeer), await served(unknownPeer)]).toEqual([13, 0])
  })

  it('answers a request that arrives closed, in one packet with the protocol name', async () => {
    const a = await start({}, serving)
    const raw = await rawPeerInTest([])
    const connection = await raw.host.dial(multiaddr(a.address))
    const [protocol] = payloadByNumberProtocols(config.l2ChainId)
    const stream = await connection.newStream([protocol], { negotiateFully: false })
    stream.send(encodeRequest(7))
    const [answer] = await Promise.all([
      readAll(stream, 10_000, AbortSignal.timeout(60_000)),
      stream.close({ signal: AbortSignal.timeout(60_000) }),
    ])
    const response = decodeResponse(answer, config, config.genesis.l2Time + 7)
    expect(response).toEqual({ code: 0, envelope: chain[6] })
  })

  it('sends no request when disabled, or for a range hours old', async () => {
    const old = testConfig('holocene', {
      genesis: { ...testConfig().genesis, l2Time: Math.floor(Date.now() / 1000) - 13 * 3600 },
    })
    const number = Math.floor(Date.now() / 1000) - old.genesis.l2Time
    const blocks = testBlocks(old, number - 5, number)
    const tip = blocks.at(-1)
    const requested: number[] = []
    const payloadByNumber = async (wanted: number) => {
      requested.push(wanted)
      return blocks.find(({ payload }) => payload.blockNumber === wanted)
    }
    const a = await start({ sequencerKey: SEQUENCER_KEY }, testChain(old, { payloadByNumber }))
    const off = await start({ staticPeers: [a.address], sync: { enabled: false, onlyStatic: false } }, testChain(old))
    const on = await start({ staticPeers: [a.address] }, testChain(old))
    await until('a mesh', () => a.node.meshSize() === 2)
    off.node.requestRange(number - 2, number, tip)
    on.node.requestRange(1, number, tip)
    // By the time these blocks arrive, any request would have been sent.
    for (let blockNumber = 1; blockNumber <= 3; blockNumber++) {
      const block = testBlock(old, { blockNumber })
      const arrived = Promise.all([off, on].map((node) => node.block(block.payload.blockHash)))
      await a.node.publish(block)
      await arrived
    }
    expect(requested).toEqual([])
    on.node.requestRange(number - 2, number, tip)
    await on.block(blocks[3]?.payload.blockHash ?? '')
    expect(requested).toEqual([number - 1, number - 2])
  })
})
