import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { until } from '../../lib/testUtils/until.ts'
import { idText, messageId, unpackMessage } from '../inspection/messageId.ts'
import { nodeInTest, rawPeerInTest } from '../testUtils/inTest.ts'
import { expectDelivery } from '../testUtils/network.ts'
import { gossipMessage } from '../testUtils/signedMessage.ts'
import { SEQUENCER_KEY, TOPIC, testBlock, testConfig } from '../testUtils/testChain.ts'
import { gossipInternals } from './adapter.ts'

it('a peer outside the mesh gets and gives blocks by lazy gossip', async () => {
  const config = testConfig()
  const gossip = { meshD: 1, meshLow: 1, meshHigh: 1, meshLazy: 6, floodPublish: false, maxAgeS: 60 }
  const sequencer = await nodeInTest({ sequencerKey: SEQUENCER_KEY })
  const node = await nodeInTest({ staticPeers: [sequencer.address], gossip })
  await until('the mesh', () => node.node.meshSize() === 1)
  const raw = await rawPeerInTest([TOPIC], { hasRealIds: true })
  const got: string[] = []
  raw.host.services.pubsub.addEventListener('gossipsub:message', ({ detail: { msg } }) => {
    got.push(idText(messageId(TOPIC, msg.data, unpackMessage(msg.data))))
  })
  await raw.connect(node.address)
  const { mesh } = gossipInternals(raw.host.services.pubsub)
  await until('the refusal', () => mesh.get(TOPIC)?.size === 0)

  // A block that the peer only announces is requested, and counts as delivered.
  raw.hold(TOPIC, gossipMessage(testBlock(config, { blockNumber: 7 })))
  await until('its block', () => node.received.length === 1)

  // The peer requests the blocks that the node announces, and recognises them.
  for (let blockNumber = 8; blockNumber <= 10; blockNumber++) {
    await expectDelivery(sequencer, node, testBlock(config, { blockNumber }))
    await until('the block', () => got.length === blockNumber - 7)
  }
  expect(node.node.meshSize()).toBe(1)
  expect(new Set(got).size).toBe(3)

  // A peer that breaks a later promise is penalised. By then the earlier promises have been checked.
  const liar = await rawPeerInTest([TOPIC])
  await liar.connect(node.address)
  const ihave = [{ topicID: TOPIC, messageIDs: [new Uint8Array(randomBytes(20))] }]
  const control = { ihave, iwant: [], graft: [], prune: [], idontwant: [] }
  gossipInternals(liar.host.services.pubsub).sendRpc(node.node.peerId, { subscriptions: [], messages: [], control })
  const penalties = async (peerId: string) =>
    (await node.events(peerId)).filter(({ reason }) => reason === 'broken-promise')
  await until('the penalty', async () => (await penalties(liar.peerId)).length > 0)
  expect(await penalties(raw.peerId)).toEqual([])
  expect(raw.behaviourPenaltyOf(node.node.peerId)).toBe(0)
})
