import { describe, expect, it } from 'vitest'
import { expectFromGo, expectFromUs, meshed, setStage, topicOf } from './goPeerSetup.ts'

// A network of op-nodes lives on lazy gossip: each names what it has (IHAVE), and the others ask for it (IWANT).

/**
 * go-libp2p and our library both hold a promise for broken after three seconds, and look at the next heartbeat. Each lazy block
 * waits for a heartbeat of its own, of which there are two a second.
 */
const BLOCKS_UNTIL_PROMISE_BREAKS = 9

describe('lazy gossip with go-libp2p', () => {
  const stage = setStage()

  it.each<[string, ('' | '/')[]]>([
    ['like op-node', ['']],
    ['like the Rust nodes', ['/']],
    ['not at all', []],
  ])('delivers blocks both ways with a peer that refuses the mesh and serves requests %s', async (_, spellings) => {
    // One mesh peer is enough here: then nobody else is sent a block unasked.
    const gossip = { meshD: 1, meshLow: 1, meshHigh: 2, meshLazy: 6, floodPublish: false, maxAgeS: 60 }
    const [ours, mesh, lazy] = await Promise.all([
      stage.ours('holocene', { gossip }),
      stage.go(),
      stage.go({ lazy: true, spellings }),
    ])
    await mesh.connect(ours.address)
    await meshed(ours, [mesh], 3)
    await ours.node.connectPeer(lazy.address)
    await lazy.event('gossips', ({ peer }) => peer === ours.node.peerId)
    const id = await expectFromGo(lazy, ours, 3)
    await expectFromUs(ours, mesh)
    await lazy.event('ihave-sent', ({ peer, ids }) => peer === ours.node.peerId && ids?.includes(id) === true)
    await lazy.event('iwant-received', ({ ids }) => ids?.includes(id) === true)

    const { messageId } = await expectFromUs(ours, lazy)
    await lazy.event('ihave-received', ({ ids }) => ids?.includes(messageId) === true)
    await lazy.event('iwant-sent', ({ ids }) => ids?.includes(messageId) === true)

    for (let block = 0; block < BLOCKS_UNTIL_PROMISE_BREAKS; block++) await expectFromUs(ours, lazy)
    expect(lazy.events.filter(({ event }) => event === 'grafted')).toEqual([])
    expect((await lazy.scores())[ours.node.peerId]).toEqual({ total: 0, behaviourPenalty: 0 })
    const known = (await ours.node.peers(true)).peers[lazy.peerId]
    expect(known?.scores.gossip.behavioralPenalty).toBe(0)
    expect(known?.scores.gossip.total).toBeGreaterThanOrEqual(0)
  })

  it('continues after the peer has pruned us for a silent topic', async () => {
    const [ours, go] = await Promise.all([stage.ours('holocene'), stage.go({ scoring: 'silent-topic' })])
    await go.connect(ours.address)
    await meshed(ours, [go], 3)
    await go.event('pruned', ({ peer, topic }) => peer === ours.node.peerId && topic === topicOf(3))

    const id = await expectFromGo(go, ours, 3)
    await go.event('iwant-received', ({ ids }) => ids?.includes(id) === true)
    await expectFromUs(ours, go)
    const scores = async () => (await go.scores())[ours.node.peerId]
    expect((await scores())?.behaviourPenalty).toBe(0)
    // Below it, the peer would no longer gossip with us. Having been pruned counts double until it has decayed once.
    await expect.poll(async () => (await scores())?.total).toBeGreaterThan(-10)
    expect((await ours.node.peers(true)).peers[go.peerId]?.scores.gossip.total).toBeGreaterThanOrEqual(0)
  })
})
