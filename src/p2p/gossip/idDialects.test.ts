import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { identifyMessage, unpackMessage } from '../inspection/messageId.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { expectDelivery } from '../testUtils/network.ts'
import { gossipMessage } from '../testUtils/signedMessage.ts'
import { SEQUENCER_KEY, TOPIC, testBlock, testConfig } from '../testUtils/testChain.ts'
import { until } from '../testUtils/testNode.ts'
import { gossipInternals } from './adapter.ts'
import { createIdDialects, idText } from './idDialects.ts'
import { speakBothDialects } from './speakBothDialects.ts'

const id = (n: number) => new Uint8Array(20).fill(n)

describe('createIdDialects', () => {
  const message = { id: id(1), idWithoutTopic: id(2) }

  it('knows a valid message by both ids', () => {
    const dialects = createIdDialects()
    expect(dialects.nameInside(id(2))).toBe(idText(id(2)))
    dialects.learnMessage(message)
    expect(dialects.nameInside(id(2))).toBe(idText(id(1)))
    expect(dialects.nameInside(id(1))).toBe(idText(id(1)))
  })
  it('lets a message that was not found valid claim no id without topic', () => {
    const dialects = createIdDialects()
    dialects.learnNames(message)
    expect(dialects.nameInside(id(2))).toBe(idText(id(2)))
  })
  it('speaks op-node’s form until a peer shows the other, and back', () => {
    const dialects = createIdDialects()
    dialects.learnMessage(message)
    dialects.hear('kona', id(3))
    expect(dialects.nameFor('kona', id(1))).toEqual(id(1))
    dialects.hear('kona', id(2))
    expect(dialects.nameFor('kona', id(1))).toEqual(id(2))
    expect(dialects.nameFor('other', id(1))).toEqual(id(1))
    expect(dialects.nameFor('kona', id(9))).toEqual(id(9))
    dialects.hear('kona', id(1))
    expect(dialects.dialectOf('kona')).toBe('with-topic')
  })
  it('keeps a message as long as gossip speaks of it, and no flood of them', () => {
    let nowMs = 0
    const dialects = createIdDialects(() => nowMs)
    dialects.learnMessage(message)
    nowMs = 65_000
    dialects.learnMessage({ id: id(3), idWithoutTopic: id(4) })
    expect(dialects.nameInside(id(2))).toBe(idText(id(1)))
    nowMs = 131_000
    dialects.learnMessage({ id: id(5), idWithoutTopic: id(6) })
    nowMs = 197_000
    dialects.learnMessage({ id: id(7), idWithoutTopic: id(8) })
    expect(dialects.nameInside(id(2))).toBe(idText(id(2)))
    for (let n = 0; n < 20_000; n++) {
      dialects.learnMessage({ id: Buffer.from(`a${n}`), idWithoutTopic: Buffer.from(`b${n}`) })
    }
    expect(dialects.nameInside(Buffer.from('b0'))).toBe('b0')
    expect(dialects.nameInside(Buffer.from('b19999'))).toBe('a19999')
  })
})

describe('a peer outside the mesh', () => {
  const config = testConfig()

  it.each(['with-topic', 'without-topic'] as const)('gets and gives blocks by lazy gossip, %s', async (dialect) => {
    const gossip = { meshD: 1, meshLow: 1, meshHigh: 1, meshLazy: 6, floodPublish: false, maxAgeS: 60 }
    const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
    const node = await nodeInTest({ staticPeers: [sequencer.address], gossip })
    await until('the mesh', () => node.node.meshSize() === 1)
    const raw = await rawPeerInTest([TOPIC], { dialect })
    const got: string[] = []
    raw.host.services.pubsub.addEventListener('gossipsub:message', ({ detail }) => {
      got.push(idText(identifyMessage(TOPIC, detail.msg.data, unpackMessage(detail.msg.data)).id))
    })
    await raw.connect(node.address)
    const { mesh } = gossipInternals(raw.host.services.pubsub)
    await until('the refusal', () => mesh.get(TOPIC)?.size === 0)

    // What it tells of is asked for, and counts as delivered.
    raw.hold(TOPIC, gossipMessage(testBlock(config, { blockNumber: 7 })))
    await until('its block', () => node.received.length === 1)

    // What the node tells of, in the peer's own form, it asks for and recognises.
    for (let blockNumber = 8; blockNumber <= 10; blockNumber++) {
      await expectDelivery(sequencer, node, testBlock(config, { blockNumber }))
      await until('the block', () => got.length === blockNumber - 7)
    }
    expect(node.node.meshSize()).toBe(1)
    expect(new Set(got).size).toBe(3)

    // Whoever breaks a promise that was made after all these is blamed: theirs have been looked at by then.
    const liar = await rawPeerInTest([TOPIC])
    await liar.connect(node.address)
    const ihave = [{ topicID: TOPIC, messageIDs: [new Uint8Array(randomBytes(20))] }]
    const control = { ihave, iwant: [], graft: [], prune: [], idontwant: [] }
    gossipInternals(liar.host.services.pubsub).sendRpc(node.node.peerId, { subscriptions: [], messages: [], control })
    const blames = async (peerId: string) =>
      (await node.events(peerId)).filter(({ reason }) => reason === 'broken-promise')
    await until('the blame', async () => (await blames(liar.peerId)).length > 0)
    expect(await blames(raw.peerId)).toEqual([])
    expect(raw.behaviourPenaltyOf(node.node.peerId)).toBe(0)
  })
})

describe('speakBothDialects', () => {
  const names = { id: id(1), idWithoutTopic: id(2) }
  /** The members that it works on; what the library would do with them is recorded. */
  function setUp() {
    const sent: [string[], unknown][] = []
    const gossiped: [string, Uint8Array[]][] = []
    const target = {
      gossipTracer: { promises: new Map<string, Map<string, number>>(), deliverMessage: (_id: string) => {} },
      idontwants: new Map<string, Map<string, number>>(),
    }
    const dialects = createIdDialects()
    const hooks = speakBothDialects(target, dialects)
    const tellOf = hooks.pushGossip((peer, { messageIDs }) => void gossiped.push([peer, messageIDs]))
    const pushGossip = (peer: string, ids: Uint8Array[]) => tellOf(peer, { topicID: 'topic', messageIDs: ids })
    const sendRpcInBatch = hooks.sendRpcInBatch(
      (peers, rpc) => void sent.push([[...peers], rpc.control?.idontwant?.[0]?.messageIDs]),
    )
    const hear = (peer: string, ids: Uint8Array[]) => hooks.hear(peer, { ihave: [{ messageIDs: ids }], idontwant: [] })
    return { target, dialects, hooks, sent, gossiped, pushGossip, sendRpcInBatch, hear }
  }

  it('tells each peer in its own form what it has and does not want', () => {
    const { dialects, hooks, sent, gossiped, pushGossip, sendRpcInBatch } = setUp()
    dialects.setDialect('kona', 'without-topic')
    hooks.onIdentified(names)
    pushGossip('kona', [id(1)])
    pushGossip('op', [id(1)])
    expect(gossiped).toEqual([
      ['kona', [id(2)]],
      ['op', [id(1)]],
    ])
    sendRpcInBatch(new Set(['op', 'kona']), { control: { idontwant: [{ messageIDs: [id(1)] }] } })
    expect(sent).toEqual([
      [['op'], [id(1)]],
      [['kona'], [id(2)]],
    ])
  })
  it('learns how a peer names messages from the name by which it promised one', () => {
    const { target, dialects, hooks } = setUp()
    target.gossipTracer.promises.set(idText(id(2)), new Map([['kona', 1]]))
    hooks.onIdentified(names)
    expect(dialects.dialectOf('kona')).toBe('without-topic')
  })
  it('remembers who did not want a message before it came', () => {
    const { target, dialects, hooks, hear } = setUp()
    const unwanted = new Map([[idText(id(2)), 7]])
    target.idontwants.set('kona', unwanted)
    hooks.onValid(names)
    expect(unwanted.get(idText(id(1)))).toBe(7)
    expect(dialects.dialectOf('kona')).toBe('without-topic')
    dialects.setDialect('kona', 'with-topic')
    hear('kona', [id(2)])
    expect(dialects.dialectOf('kona')).toBe('without-topic')
  })
})
