import { describe, expect, it } from 'vitest'
import { fromHex, toHex } from '../../src/lib/hex.ts'
import { until } from '../../src/lib/testUtils/until.ts'
import { compressSnappy } from '../../src/p2p/base/snappyBlock.ts'
import type { PayloadVersion } from '../../src/p2p/base/topics.ts'
import { messageId, unpackMessage } from '../../src/p2p/inspection/messageId.ts'
import { SEQUENCER_KEY, testBlock, testConfig } from '../../src/p2p/testUtils/testChain.ts'
import { encodePayloadEnvelope } from '../../src/rollup/protocol/index.ts'
import type { Publication } from './goPeerProcess.ts'
import {
  expectFromGo,
  expectFromUs,
  FORK_OF,
  meshed,
  nextBlock,
  type OurNode,
  setStage,
  signed,
  topicOf,
  VERSIONS,
} from './goPeerSetup.ts'

// Our p2p node beside go-libp2p and go-libp2p-pubsub, with the parameters that op-node gives them.

const KEY = toHex(SEQUENCER_KEY)
const WRONG_KEY = toHex(new Uint8Array(32).fill(9))
const nowS = (): number => Math.floor(Date.now() / 1000)
describe('beside go-libp2p', () => {
  const stage = setStage()

  describe('connecting', () => {
    it.each(['the Go peer', 'this node'] as const)('%s dials, and each identifies the other', async (dialer) => {
      const [ours, go] = await Promise.all([stage.ours('holocene'), stage.go()])
      if (dialer === 'this node') await ours.node.connectPeer(go.address)
      else await go.connect(ours.address)
      const identified = await go.event('identified', ({ peer }) => peer === ours.node.peerId)
      expect(identified.userAgent).toBe('optimism')
      expect(identified.protocols).toEqual(
        expect.arrayContaining([
          '/meshsub/1.2.0',
          '/meshsub/1.1.0',
          '/floodsub/1.0.0',
          '/ipfs/id/1.0.0',
          '/ipfs/ping/1.0.0',
          '/opstack/req/payload_by_number/901/0',
          '/opstack/req/payload_by_number/901/0/',
        ]),
      )
      expect(`${identified.addresses?.[0]}/p2p/${ours.node.peerId}`).toBe(ours.address)
      const known = async () => (await ours.node.peers(true)).peers[go.peerId]
      await until('identify', async () => (await known())?.userAgent === 'go-interop')
      expect(await known()).toMatchObject({
        direction: dialer === 'this node' ? 2 : 1,
        addresses: expect.arrayContaining([go.address]),
        protocols: expect.arrayContaining(['/meshsub/1.2.0', '/opstack/req/payload_by_number/901/0']),
      })
      expect((await go.event('gossips', ({ peer }) => peer === ours.node.peerId)).protocol).toBe('/meshsub/1.2.0')
    })

    it('a crashed static peer is connected again after its restart', async () => {
      const key = toHex(new Uint8Array(32).fill(0x77))
      const first = await stage.go({ key })
      const port = Number(/\/tcp\/(\d+)/.exec(first.address)?.[1])
      const ours = await stage.ours('holocene', { staticPeers: [first.address] })
      await meshed(ours, [first], 3)
      await first.kill()
      await until('the loss', () => ours.node.connectedPeers().length === 0 && ours.node.meshSize() === 0)
      const second = await stage.go({ key, port })
      expect(second.address).toBe(first.address)
      expect((await second.event('connected')).inbound).toBe(true)
      await meshed(ours, [second], 3)
      await expectFromUs(ours, second)
      await expectFromGo(second, ours, 3)
    })
  })

  describe('the mesh', () => {
    it('forms on all four topics and stays', async () => {
      const [ours, go] = await Promise.all([stage.ours('holocene'), stage.go()])
      await go.connect(ours.address)
      for (const version of VERSIONS) await meshed(ours, [go], version)
      // Three heartbeats of each side: what one of them minded, it would have pruned by then.
      const timeInMeshS = async () =>
        (await ours.node.peers(true)).peers[go.peerId]?.scores.gossip.blocks.timeInMesh ?? 0
      await until('three heartbeats', async () => (await timeInMeshS()) > 1.6)
      expect(go.events.filter(({ event }) => event === 'pruned' || event.startsWith('prune-'))).toEqual([])
      expect(ours.node.meshSize()).toBe(1)
      const stats = await ours.node.peerStats()
      expect(stats).toMatchObject({ blocksTopic: 1, blocksTopicV2: 1, blocksTopicV3: 1, blocksTopicV4: 1 })
    })

    it.each(VERSIONS)('carries blocks of version %i both ways, under the same id', async (version) => {
      const fork = FORK_OF[version]
      const [ours, go, third] = await Promise.all([stage.ours(fork), stage.go(), stage.go()])
      await Promise.all([ours.node.connectPeer(go.address), third.connect(ours.address)])
      await meshed(ours, [go, third], version)

      const { topic, data, messageId: theirs } = await expectFromUs(ours, go)
      expect(topic).toBe(topicOf(version))
      const bytes = fromHex(data)
      expect(toHex(messageId(topicOf(version), bytes, unpackMessage(bytes)))).toBe(theirs)

      await expectFromGo(go, ours, version)
      // And on from us to others.
      await third.event('message', ({ peer, block }) => peer === ours.node.peerId && block !== undefined)
      expect(ours.reasons).toEqual([])
      expect(go.events.filter(({ event }) => event === 'refused')).toEqual([])
    })

    it('carries blocks of Jovian, whose blob gas is not zero', async () => {
      const [ours, go] = await Promise.all([stage.ours('jovian'), stage.go()])
      await go.connect(ours.address)
      await meshed(ours, [go], 4)
      const block = nextBlock(ours, { blobGasUsed: 4_000n })
      const arrived = ours.block(block.payload.blockHash)
      await go.publish(signed(block, 4))
      expect(await arrived).toEqual(block)
      await expectFromUs(ours, go, { blobGasUsed: 5_000n })
    })

    it('we send IDONTWANT for a large block', async () => {
      const [ours, go, third] = await Promise.all([stage.ours('holocene'), stage.go(), stage.go()])
      await Promise.all([go.connect(ours.address), third.connect(ours.address)])
      await meshed(ours, [go, third], 3)
      const noise = new Uint8Array(4_000).map((_, index) => (index * 2_654_435_761) >>> 13)
      const block = nextBlock(ours, { transactions: [noise] })
      const id = await go.publish(signed(block, 3))
      await third.event('idontwant-received', ({ ids }) => ids?.includes(id) === true)
    })
  })

  describe('hostile messages', () => {
    it.each(VERSIONS)('of version %i are rejected and not forwarded', async (version) => {
      const fork = FORK_OF[version]
      // Without scores: a peer that sends all this would not be heard to the end.
      const ours = await stage.ours(fork, { scoring: 'none' })
      const [hostile, witness] = await Promise.all([stage.go(), stage.go()])
      await Promise.all([hostile.connect(ours.address), witness.connect(ours.address)])
      await meshed(ours, [hostile, witness], version)
      const bad = new Set<string>()
      for (const [name, reason, what] of offences(version, ours)) {
        ours.reasons.length = 0
        bad.add(await hostile.publish(what))
        await until(`a verdict on ${name}`, () => ours.reasons.length > 0)
        expect(ours.reasons, name).toEqual([`reject ${reason}`])
      }
      for (let rival = 0; rival < 7; rival++) {
        ours.reasons.length = 0
        const block = nextBlock(ours, { blockNumber: 1_000_000, gasUsed: BigInt(rival) })
        const id = await hostile.publish(signed(block, version))
        if (rival === 6) bad.add(id)
        else await ours.block(block.payload.blockHash)
      }
      await until('a verdict on the seventh block at a height', () => ours.reasons.length > 0)
      expect(ours.reasons).toEqual(['reject too-many-at-height'])

      expect(ours.received).toHaveLength(6)
      await expectFromGo(hostile, ours, version)
      const good = ours.received[6]?.payload.blockHash
      await witness.event('message', ({ block }) => block?.payload.blockHash === good)
      const seen = () =>
        new Set(witness.events.flatMap(({ event, messageId: id }) => (event === 'block-received' ? [id ?? ''] : [])))
      // Go tells of what it received and of what it took by ways of their own.
      await until('all that were good', () => seen().size >= 7)
      expect([...seen()].filter((id) => bad.has(id))).toEqual([])
      expect(seen().size).toBe(7)
    })
  })
})

type Offence = [name: string, reason: string, what: Publication]

/** Every way in which a message can be wrong, with the reason that we are to give. */
function offences(version: PayloadVersion, ours: OurNode): Offence[] {
  const block = (changes: Parameters<typeof testBlock>[1], seal: Parameters<typeof signed>[2] = {}): Publication =>
    signed(nextBlock(ours, changes), version, seal)
  const raw = (bytes: Uint8Array): Publication => ({ version, raw: toHex(bytes) })
  const body = (bytes: Uint8Array): Publication => ({ version, body: toHex(bytes), key: KEY })
  const foreign = version === 4 ? 3 : 4
  const list: Offence[] = [
    ['what is no snappy', 'snappy-damaged', raw(Uint8Array.of(5, 0x10, 1, 2))],
    ['what has no length', 'snappy-length', raw(new Uint8Array(8).fill(0xff))],
    ['a length beyond the limit', 'too-large', raw(Uint8Array.of(0x81, 0x80, 0x80, 0x05, 0, 0))],
    ['11 MB of zeros', 'too-large', raw(compressSnappy(new Uint8Array(11_000_000)))],
    ['ten bytes', 'too-small', raw(compressSnappy(new Uint8Array(10)))],
    ['a signature of nothing', 'too-small', body(new Uint8Array())],
    ['a recovery id of 27', 'bad-signature', block({}, { spoil: 'recovery' })],
    ['a signature of another key', 'wrong-signer', block({}, { key: WRONG_KEY })],
    ['zeros, signed', 'bad-encoding', body(new Uint8Array(600))],
    ['a hundred bytes, signed', 'bad-encoding', body(new Uint8Array(100).fill(7))],
    ['a block of two minutes ago', 'too-old', block({ timestamp: nowS() - 120 })],
    ['a block of the future', 'from-future', block({ timestamp: nowS() + 30 })],
    ['another hash', 'wrong-hash', block({ blockHash: `0x${'ab'.repeat(32)}` })],
    [
      'a block of another topic’s form',
      'bad-encoding',
      body(encodePayloadEnvelope(testBlock(testConfig(FORK_OF[foreign])), foreign)),
    ],
  ]
  if (version >= 2) {
    const withdrawal = { index: 1n, validatorIndex: 2n, address: `0x${'11'.repeat(20)}` as const, amount: 3n }
    list.push(['withdrawals', 'withdrawals', block({ withdrawals: [withdrawal] })])
  }
  if (version >= 3) {
    list.push(['blob gas before Jovian', 'blob-gas', block({ blobGasUsed: 131_072n })])
    list.push(['excess blob gas', 'blob-gas', block({ excessBlobGas: 1n })])
  }
  return list
}
