import type { Startable } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { describe, expect, it, onTestFinished } from 'vitest'
import { realGossip } from '../testUtils/realGossip.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { controlRpc, type OutboundStream } from './adapter.ts'
import type { GossipRouterModules } from './router.ts'

const peerId = peerIdFromString('16Uiu2HAmQtLoyaBUxgcXhCzBvRKj6WS7iCDM9hUZMFyCnxQcHy2p')
const id = peerId.toString()

/** The router in a library that runs without connections. */
async function setUp(modules: Pick<Partial<GossipRouterModules>, 'isAlwaysServed'> = {}) {
  const real = await realGossip(modules)
  const { events, gossip } = real
  // libp2p starts and stops its services.
  const pubsub: typeof real.pubsub & Partial<Startable> = real.pubsub
  await pubsub.start?.()
  onTestFinished(() => pubsub.stop?.())
  const traced: string[] = []
  events.on('traced', (event, count) => traced.push(`${event} ${count}`))
  const mesh: unknown[][] = []
  events.on('mesh', (...change) => mesh.push(change))
  return {
    ...{ ...real, mesh },
    traced: () => traced.splice(0),
    async subscribe(topic: string, from = peerId) {
      await gossip.handleReceivedRpc(from, { subscriptions: [{ topic, subscribe: true }], messages: [] })
    },
    change(kind: 'graft' | 'prune', topic: string, direction: string) {
      pubsub.dispatchEvent(new CustomEvent(`gossipsub:${kind}`, { detail: { peerId: id, topic, direction } }))
    },
  }
}

describe('the events of the router', () => {
  it('are a join for each topic, and a leave only after it', async () => {
    const { router, pubsub, traced } = await setUp()
    router.leave()
    expect(traced()).toEqual([])
    router.join()
    expect(pubsub.getTopics()).toEqual([TOPIC])
    expect(traced()).toEqual(['JOIN 1'])
    router.leave()
    router.leave()
    expect(traced()).toEqual(['LEAVE 1'])
  })

  it.each([
    { direction: 'inbound', isIn: true, cause: 'by-peer' },
    { direction: 'outbound', isIn: true, cause: 'by-us' },
    { direction: 'inbound', isIn: false, cause: 'refused' },
  ])('say who grafted: $direction, in the mesh $isIn', async ({ direction, isIn, cause }) => {
    const { gossip, change, mesh, traced } = await setUp()
    gossip.mesh.set(TOPIC, new Set(isIn ? [id] : []))
    change('graft', TOPIC, direction)
    change('graft', 'other', direction)
    expect(mesh).toEqual([['graft', id, 3, cause]])
    expect(traced()).toEqual(['GRAFT 1', 'GRAFT 1'])
  })

  it.each([
    ['inbound', 'by-peer'],
    ['outbound', 'by-us'],
  ])('say who pruned: %s', async (direction, cause) => {
    const { change, mesh, traced } = await setUp()
    change('prune', TOPIC, direction)
    change('prune', 'other', direction)
    expect(mesh).toEqual([['prune', id, 3, cause]])
    expect(traced()).toEqual(['PRUNE 1', 'PRUNE 1'])
  })

  it('count RPCs that were sent, or not', async () => {
    const { gossip, traced } = await setUp()
    expect(gossip.sendRpc(id, controlRpc({}))).toBe(false)
    expect(traced()).toEqual(['DROP_RPC 1'])
    gossip.streamsOutbound.set(id, stream())
    expect(gossip.sendRpc(id, controlRpc({}))).toBe(true)
    expect(traced()).toEqual(['SEND_RPC 1'])
  })

  it('count a block of its own that no peer gets, and keep it for new peers', async () => {
    const { router, gossip, traced } = await setUp()
    router.join()
    traced()
    expect(await router.publish(3, { bytes: new Uint8Array(100), blockTimeS: 1 })).toBe(0)
    expect(traced()).toEqual(['PUBLISH_MESSAGE 1'])
    expect(gossip.mcache.msgs.size).toBe(1)
  })
})

describe('an own block', () => {
  const block = { bytes: new Uint8Array(100), blockTimeS: 1 }

  it('goes to all subscribers without a mesh, and the library keeps no fanout', async () => {
    const { router, pubsub, gossip, addPeer, subscribe, traced } = await setUp()
    router.join()
    addPeer(peerId)
    await subscribe(TOPIC)
    gossip.streamsOutbound.set(id, stream())
    traced()
    expect(await router.publish(3, block)).toBe(1)
    expect(traced()).toEqual(['SEND_RPC 1', 'PUBLISH_MESSAGE 1'])
    const fanout: unknown = Reflect.get(pubsub, 'fanout')
    expect(fanout).toEqual(new Map())
  })

  it('goes to the mesh and to a static peer, once each', async () => {
    const other = peerIdFromString('16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8')
    const { router, gossip, addPeer, subscribe, traced } = await setUp({ isAlwaysServed: (peer) => peer === id })
    router.join()
    for (const peer of [peerId, other]) {
      addPeer(peer)
      await subscribe(TOPIC, peer)
      gossip.streamsOutbound.set(peer.toString(), stream())
    }
    const full = Array.from({ length: 8 }, (_, index) => `absent ${index}`)
    gossip.mesh.set(TOPIC, new Set([other.toString(), ...full]))
    traced()
    expect(await router.publish(3, block)).toBe(2)
    expect(traced().filter((event) => event === 'SEND_RPC 1')).toHaveLength(2)
  })
})

describe('a peer', () => {
  it('is found by its address, its subscription and its mesh', async () => {
    const { router, gossip, addPeer, subscribe } = await setUp()
    expect([router.subscribers(3), router.meshPeers(3), router.peersOnIp('1.2.3.4')]).toEqual([[], [], []])
    addPeer(peerId)
    expect(router.peersOnIp('1.2.3.4')).toEqual([id])
    expect(router.isSubscribed(id)).toBe(false)
    await subscribe(TOPIC)
    expect([router.isSubscribed(id), router.isSubscribed('other')]).toEqual([true, false])
    expect([router.subscribers(3), router.subscribers(4)]).toEqual([[id], []])
    gossip.mesh.set(TOPIC, new Set([id]))
    expect([router.meshPeers(3), router.meshPeers(4)]).toEqual([[id], []])
  })

  it('pays for offences that cost points, and only for these', async () => {
    const { router, events } = await setUp()
    events.emit('offence', id, 'flood', 0)
    expect(router.counters(id)).toBeUndefined()
    events.emit('offence', id, 'flood', 3)
    expect(router.counters(id)?.behaviourPenalty).toBe(3)
  })
})

/** An open stream that takes everything. */
function stream(): OutboundStream {
  const rawStream = { status: 'open', protocol: '', addEventListener: () => {} }
  return Object.assign(Object.create({ push() {} }), { close: async () => {}, rawStream })
}
