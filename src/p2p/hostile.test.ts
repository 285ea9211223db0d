import { describe, expect, it } from 'vitest'
import { concatBytes } from '../lib/bytes.ts'
import { signHash } from '../lib/secp256k1.ts'
import { until } from '../lib/testUtils/until.ts'
import { payloadSigningHashOfBody } from '../rollup/protocol/index.ts'
import { compressSnappy } from './base/snappyBlock.ts'
import { blocksTopic } from './base/topics.ts'
import type { RejectReason } from './base/verdict.ts'
import { NOT_PENALISED } from './gossip/topicScores.ts'
import { nodeInTest, rawPeerInTest } from './testUtils/inTest.ts'
import { expectDelivery } from './testUtils/network.ts'
import type { RawPeer } from './testUtils/rawPeer.ts'
import { recordRejections } from './testUtils/rejections.ts'
import { gossipMessage, signedMessage } from './testUtils/signedMessage.ts'
import { CHAIN_ID, SEQUENCER_KEY, TOPIC, testBlock, testConfig } from './testUtils/testChain.ts'

const config = testConfig('holocene')
const OLD_TOPIC = blocksTopic(CHAIN_ID, 1)
const nowS = () => Math.floor(Date.now() / 1000)

/** Sequencer → follower ← hostile peer. `reasons` collects the follower's log of messages that it did not accept. */
async function setUp() {
  const { logger, reasons } = recordRejections()
  const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
  const follower = await nodeInTest({ staticPeers: [sequencer.address] }, { logger })
  const hostile = await rawPeerInTest([TOPIC, OLD_TOPIC])
  await hostile.connect(follower.address)
  await until('the mesh', () => follower.node.meshSize() === 2 && sequencer.node.meshSize() === 1)
  return { sequencer, follower, hostile, reasons }
}

const signed = (changes: Parameters<typeof testBlock>[1], key?: Uint8Array) =>
  gossipMessage(testBlock(config, changes), key)

/** Bytes that the sequencer would never sign, signed by it. */
function signedBody(body: Uint8Array): Uint8Array {
  const { r, s, yParity } = signHash(payloadSigningHashOfBody(CHAIN_ID, body), SEQUENCER_KEY)
  return compressSnappy(concatBytes(r, s, Uint8Array.of(yParity), body))
}

/** Its recovery byte is invalid. */
function unsigned(): Uint8Array {
  const message = signedMessage(testBlock(config), 3, CHAIN_ID, SEQUENCER_KEY)
  message[64] = 27
  return message
}

/** Messages of a hostile peer, with the reason that the follower gives. */
const OFFENCES: [string, string, (hostile: RawPeer) => Promise<void>][] = [
  ['bytes that are no snappy', 'snappy-damaged', (h) => h.publish(TOPIC, Uint8Array.of(5, 0x10, 1, 2))],
  ['no length', 'snappy-length', (h) => h.publish(TOPIC, new Uint8Array(8).fill(0xff))],
  ['an empty message', 'snappy-length', (h) => h.publish(TOPIC, new Uint8Array(0))],
  ['a bomb by declaration', 'too-large', (h) => h.publish(TOPIC, Uint8Array.of(0x81, 0x80, 0x80, 0x05, 0, 0))],
  ['a bomb that unpacks to 11 MB', 'too-large', (h) => h.publish(TOPIC, compressSnappy(new Uint8Array(11_000_000)))],
  ['10 MB of zeros', 'bad-signature', (h) => h.publish(TOPIC, compressSnappy(new Uint8Array(10_000_000)))],
  ['a tiny message', 'too-small', (h) => h.publish(TOPIC, compressSnappy(new Uint8Array(10)))],
  ['a block without signature', 'bad-signature', (h) => h.publish(TOPIC, compressSnappy(unsigned()))],
  ['a signed nothing', 'bad-encoding', (h) => h.publish(TOPIC, signedBody(new Uint8Array(600).fill(7)))],
  ['a wrong signer', 'wrong-signer', (h) => h.publish(TOPIC, signed({}, new Uint8Array(32).fill(9)))],
  ['a stale block', 'too-old', (h) => h.publish(TOPIC, signed({ timestamp: nowS() - 70 }))],
  ['a future block', 'from-future', (h) => h.publish(TOPIC, signed({ timestamp: nowS() + 20 }))],
  ['a wrong hash', 'wrong-hash', (h) => h.publish(TOPIC, signed({ blockHash: `0x${'ab'.repeat(32)}` }))],
  [
    'a block on the topic of another time',
    'wrong-hash',
    (h) => h.publish(OLD_TOPIC, gossipMessage(testBlock(config), SEQUENCER_KEY, 1)),
  ],
]

describe('hostile messages', () => {
  it.each(OFFENCES)('%s is rejected as %s while good blocks flow', async (_id, reason, offend) => {
    const { sequencer, follower, hostile, reasons } = await setUp()
    await offend(hostile)
    await until('the verdict', () => reasons.length > 0)
    expect(reasons).toEqual([`reject ${reason}`])
    await expectDelivery(sequencer, follower, testBlock(config, { blockNumber: 100 }))
    expect(follower.received).toHaveLength(1)
    const events = await follower.events(hostile.peerId)
    expect(events.filter(({ kind }) => kind === 'reject')).toMatchObject([{ reason, count: 1 }])
    // A possible fault of this node or of the sequencer costs nothing.
    const isFree = NOT_PENALISED.has(reason as RejectReason)
    const score = async () => (await follower.node.peerScore(hostile.peerId))[0]?.total ?? 0
    if (isFree) expect(await score()).toBeGreaterThanOrEqual(0)
    else await until('the price', async () => (await score()) < 0)
    // A rejected message is not forwarded.
    expect(await sequencer.registry.metrics()).not.toContain('type="REJECT_MESSAGE"')
  })

  it('the seventh block at a height is rejected', async () => {
    const { sequencer, follower, hostile, reasons } = await setUp()
    for (let n = 0; n < 7; n++) await hostile.publish(TOPIC, signed({ blockNumber: 50, gasUsed: BigInt(n) }))
    await until('the verdict', () => reasons.length > 0)
    expect(reasons).toEqual(['reject too-many-at-height'])
    expect(follower.received).toHaveLength(6)
    await expectDelivery(sequencer, follower, testBlock(config, { blockNumber: 100 }))
  })

  it('a flood of garbage does not stop good blocks', async () => {
    const { sequencer, follower, hostile } = await setUp()
    for (let n = 0; n < 500; n++) {
      await hostile.publish(TOPIC, compressSnappy(new Uint8Array(1_000 + n).fill(n)))
    }
    await expectDelivery(sequencer, follower, testBlock(config, { blockNumber: 100 }))
  })

  it('the node does not subscribe to a foreign topic', async () => {
    const { follower, hostile } = await setUp()
    const { pubsub } = hostile.host.services
    pubsub.subscribe('/optimism/902/2/blocks')
    await pubsub.publish('/optimism/902/2/blocks', Uint8Array.of(1, 2, 3))
    expect(pubsub.getSubscribers('/optimism/902/2/blocks')).toEqual([])
    expect((await follower.node.peerStats()).blocksTopicV3).toBe(2)
  })
})
