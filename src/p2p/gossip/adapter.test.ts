import type { GossipSub } from '@chainsafe/libp2p-gossipsub'
import type { Connection, PeerId, Stream } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { describe, expect, it } from 'vitest'
import { realGossip } from '../testUtils/realGossip.ts'
import { TOPIC } from '../testUtils/testChain.ts'
import { type GossipInternals, gossipInternals, REPLACED } from './adapter.ts'

const peerId = peerIdFromString('16Uiu2HAmQtLoyaBUxgcXhCzBvRKj6WS7iCDM9hUZMFyCnxQcHy2p')
const id = peerId.toString()

/** Where the library comes in from libp2p, from its timers and from an RPC. */
interface Entrances {
  start(): Promise<void>
  stop(): Promise<void>
  addPeer(peerId: PeerId, direction: 'inbound' | 'outbound', address: Multiaddr): void
  onIncomingStream(stream: Stream, connection: Connection): void
  onPeerConnected(peerId: PeerId, connection: Connection): void
  addToMesh(id: string, topic: string, reason: string): void
  handleGraft(id: string, graft: { topicID: string }[]): Promise<unknown>
  emitGossip(peersByTopic: Map<string, Set<string>>): void
}

async function setUp() {
  const real = await realGossip({
    ids: { identify: () => Promise.reject(new Error('not asked here')) },
    validate: () => ({ result: 'ignore', reason: 'already-seen' }),
  })
  const { pubsub } = real
  return { ...real, entrances: pubsub as GossipSub & Entrances }
}

/** Functions that were put on the instance, and do not come from the class or its constructor. */
function ownFunctions(instance: object, path = ''): string[] {
  const isMethod = (name: string): boolean => Object.getPrototypeOf(instance)[name] !== undefined
  return Object.keys(instance)
    .filter((name) => typeof Reflect.get(instance, name) === 'function' && isMethod(name))
    .map((name) => path + name)
}

describe('the adapter of gossipsub', () => {
  it('replaces what its list says, and nothing else', async () => {
    const { gossip } = await setUp()
    const parts = ['', 'score.', 'gossipTracer.', 'mcache.', 'seenCache.'] as const
    const replaced = parts.flatMap((path) =>
      ownFunctions(path === '' ? gossip : member(gossip, path.slice(0, -1)), path),
    )
    expect(replaced.sort()).toEqual(REPLACED.map(({ member }) => member).sort())
    for (const { reason } of REPLACED) expect(reason.length).toBeGreaterThan(10)
  })

  it('refuses a library that lacks one of the members that are used, here and in its parts', async () => {
    const { gossip } = await setUp()
    const without = (owner: object, name: string) => Object.create(owner, { [name]: { value: undefined } })
    expect(gossipInternals(gossip)).toBe(gossip)
    expect(() => gossipInternals(without(gossip, 'backoff'))).toThrow('gossip.backoff is undefined, not object')
    const score = { value: without(gossip.score, 'deliveryRecords') }
    expect(() => gossipInternals(Object.create(gossip, { score }))).toThrow('score.deliveryRecords is undefined')
  })

  it('each replacement is asked by the library where it takes its place', async () => {
    const { gossip, entrances } = await setUp()
    const asked = new Set<string>()
    for (const { member: path } of REPLACED) {
      const owner = path.startsWith('score.') ? gossip.score : gossip
      const name = path.replace('score.', '')
      const original: unknown = Reflect.get(owner, name)
      if (typeof original !== 'function') throw new Error(`${path} is no function`)
      Reflect.set(owner, name, (...args: unknown[]) => {
        asked.add(path)
        // Streams are opened by libp2p, which is not started here.
        return name.startsWith('create') ? Promise.resolve() : original.apply(owner, args)
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
    entrances.onIncomingStream({} as Stream, connection)
    gossip.topics.set(TOPIC, new Set([id]))
    gossip.mesh.set(TOPIC, new Set())
    entrances.addToMesh(id, TOPIC, 'test')
    gossip.sendIDontWants(new Uint8Array(20), TOPIC, 'somebody else')
    gossip.backoff.set(TOPIC, new Map([[id, Date.now() + 60_000]]))
    gossip.mesh.get(TOPIC)?.delete(id)
    await entrances.handleGraft(id, [{ topicID: TOPIC }])
    gossip.mcache.put({ msgId: new Uint8Array(20), msgIdStr: 'id' }, { topic: TOPIC }, true)
    entrances.emitGossip(new Map([[TOPIC, new Set([id])]]))
    entrances.subscribe(TOPIC)
    await expect.poll(() => asked.has('heartbeat')).toBe(true)
    gossip.removePeer(peerId)
    await entrances.stop()
    expect([...asked].sort()).toEqual(REPLACED.map(({ member }) => member).sort())
  })
})

function member(gossip: GossipInternals, name: string): object {
  const found: unknown = Reflect.get(gossip, name)
  if (typeof found !== 'object' || found === null) throw new Error(`no ${name}`)
  return found
}
