import type { GossipSub } from '@chainsafe/libp2p-gossipsub'
import type { Connection, PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { realGossip } from '../testUtils/realGossip.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { controlRpc, type GossipInternals, gossipInternals, peerNamed, REPLACED } from './adapter.ts'
import { GossipScore } from './gossipScore.ts'

const peerId = peerIdFromString('16Uiu2HAmQtLoyaBUxgcXhCzBvRKj6WS7iCDM9hUZMFyCnxQcHy2p')
const id = peerId.toString()
const REPLACED_NAMES = Object.keys(REPLACED).sort()

/** The library's entry points for libp2p, timers and RPCs. */
interface Entrances {
  start(): Promise<void>
  stop(): Promise<void>
  onPeerConnected(peerId: PeerId, connection: Connection): void
  onPeerDisconnected(peerId: PeerId): void
  addToMesh(id: string, topic: string, reason: string): void
}

async function setUp() {
  const real = await realGossip()
  const pubsub: GossipSub = real.pubsub
  return { ...real, entrances: pubsub as GossipSub & Entrances }
}

/** Functions set on the instance that replace methods of its class. */
function ownFunctions(instance: object): string[] {
  const isMethod = (name: string): boolean => Object.getPrototypeOf(instance)[name] !== undefined
  return Object.keys(instance).filter((name) => typeof Reflect.get(instance, name) === 'function' && isMethod(name))
}

describe('the adapter of gossipsub', () => {
  it('replaces exactly the members of its list', async () => {
    const { gossip } = await setUp()
    expect([...ownFunctions(gossip), 'score'].sort()).toEqual(REPLACED_NAMES)
    expect(gossip.score).toBeInstanceOf(GossipScore)
    for (const part of ['score', 'gossipTracer', 'mcache', 'seenCache']) {
      expect(ownFunctions(member(gossip, part))).toEqual([])
    }
    for (const reason of Object.values(REPLACED)) expect(reason.length).toBeGreaterThan(10)
  })

  it('refuses a library in which it or one of its parts lacks a used member', async () => {
    const { gossip } = await setUp()
    const without = (owner: object, name: string) => Object.create(owner, { [name]: { value: undefined } })
    expect(gossipInternals(gossip)).toBe(gossip)
    expect(() => gossipInternals(without(gossip, 'backoff'))).toThrow(errorWith('gossipsub-unknown', 'gossip.backoff'))
    const mcache = { value: without(gossip.mcache, 'history') }
    expect(() => gossipInternals(Object.create(gossip, { mcache }))).toThrow(
      errorWith('gossipsub-unknown', 'mcache.history'),
    )
  })

  it('names a peer by its id, and completes a control message', async () => {
    const { gossip, addPeer } = await setUp()
    const other = peerIdFromString('16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8')
    for (const peer of [other, peerId]) addPeer(peer)
    expect(peerNamed(gossip, id)?.toString()).toBe(id)
    expect(peerNamed(gossip, 'stranger')).toBeUndefined()
    const graft = [{ topicID: TOPIC }]
    const empty = { ihave: [], iwant: [], prune: [], idontwant: [] }
    expect(controlRpc({ graft })).toEqual({ subscriptions: [], messages: [], control: { ...empty, graft } })
  })

  it('the library calls each replacement', async () => {
    const { gossip, entrances } = await setUp()
    const called = new Set<string>()
    for (const name of REPLACED_NAMES.filter((name) => name !== 'score')) {
      const original: unknown = Reflect.get(gossip, name)
      if (typeof original !== 'function') throw new Error(`${name} is no function`)
      Reflect.set(gossip, name, (...args: unknown[]) => {
        called.add(name)
        // libp2p opens streams, and it is not started here.
        return name.startsWith('create') ? Promise.resolve() : original.apply(gossip, args)
      })
    }
    const { score } = gossip
    if (!(score instanceof GossipScore)) throw new Error('another score keeper')
    const scored = new Set<string>()
    for (const name of ['start', 'stop', 'addPeer', 'addIP', 'graft', 'addPenalty', 'removePeer'] as const) {
      const original: unknown = Reflect.get(score, name)
      if (typeof original !== 'function') throw new Error(`score.${name} is no function`)
      Reflect.set(score, name, (...args: unknown[]) => {
        scored.add(name)
        return original.apply(score, args)
      })
    }
    await entrances.start()
    const connection = {
      remotePeer: peerId,
      remoteAddr: multiaddr('/ip4/1.2.3.4/tcp/1'),
      direction: 'inbound',
      status: 'open',
    } as Connection
    entrances.onPeerConnected(peerId, connection)
    gossip.mesh.set(TOPIC, new Set())
    entrances.addToMesh(id, TOPIC, 'test')
    gossip.backoff.set(TOPIC, new Map([[id, Date.now() + 60_000]]))
    gossip.mesh.get(TOPIC)?.delete(id)
    const control = { graft: [{ topicID: TOPIC }], ihave: [], iwant: [], prune: [], idontwant: [] }
    await gossip.handleReceivedRpc(peerId, { subscriptions: [], messages: [], control })
    entrances.subscribe(TOPIC)
    await expect.poll(() => called.has('heartbeat')).toBe(true)
    entrances.onPeerDisconnected(peerId)
    await entrances.stop()
    expect([...called, 'score'].sort()).toEqual(REPLACED_NAMES)
    expect([...scored].sort()).toEqual(['addIP', 'addPeer', 'addPenalty', 'graft', 'removePeer', 'start', 'stop'])
  })
})

function member(gossip: GossipInternals, name: string): object {
  const found: unknown = Reflect.get(gossip, name)
  if (typeof found !== 'object' || found === null) throw new Error(`no ${name}`)
  return found
}
