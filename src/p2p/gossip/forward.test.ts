import type { PeerId } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { createForwarder } from './forward.ts'

const TOPIC = '/optimism/901/2/blocks'
const MESSAGE = { topic: TOPIC, data: new Uint8Array(1) }

const named = (id: string) => ({ toString: () => id }) as PeerId

/** `sent`: message → its senders. */
function setUp(options: { mesh?: string[]; peers?: string[]; sent?: Record<string, string[]> }) {
  const { mesh = ['a', 'b', 'c', 'd'], peers = mesh, sent = {} } = options
  const calls: string[] = []
  const records = new Map(Object.entries(sent).map(([id, senders]) => [id, { peers: new Set(senders) }]))
  const gossip = {
    mesh: new Map([[TOPIC, new Set(mesh)]]),
    getSubscribers: (topic: string) => (topic === TOPIC ? peers.map(named) : []),
    streamsOutbound: new Map<string, { rawStream: { protocol: string } }>(),
    idontwants: new Map<string, Map<string, number>>(),
    score: {
      score: (peerId: string): number => (peerId === 'bad' ? -40.1 : -40),
      deliveryRecords: { getRecord: (id: string) => records.get(id) },
    },
    sendRpc(peerId: string): boolean {
      calls.push(peerId)
      return true
    },
  }
  const forwarder = createForwarder(
    gossip,
    { isAlwaysServed: (peerId) => peerId === 'static' },
    { meshLow: 3, publishThreshold: -40 },
  )
  /** The peers that receive the message at once, and those that receive it `later`. */
  const forward = (id: string, topic = TOPIC, from = 'a') => {
    const done = forwarder.forward(id, { ...MESSAGE, topic }, from)
    return { first: calls.splice(0).join(' '), later: done.then(() => calls.splice(0).join(' ')) }
  }
  /** The number of further peers of an own message, and those peers. */
  const publish = (chosen: string[]) => {
    const count = forwarder.sendToOthers('own', MESSAGE, new Set(chosen))
    return [count, calls.splice(0).join(' ')]
  }
  return { gossip, records, forward, publish }
}

describe('the recipients of a block', () => {
  const peers = ['a', 'b', 'c', 'static', 'bad', 'flood', 'from']
  it.each([
    [
      'with a mesh below the low mark, all subscribers except the sender and peers with a bad score',
      ['a', 'b'],
      'a b c flood static',
    ],
    ['with a mesh at the low mark, the mesh, static peers and floodsub peers', ['a', 'b', 'c'], 'a b c flood static'],
    ['of a mesh above the low mark, also a mesh peer with a bad score', ['a', 'b', 'bad'], 'a b bad flood static'],
  ])('%s', (_, mesh, served) => {
    const { gossip, forward, publish } = setUp({ mesh, peers })
    gossip.streamsOutbound.set('flood', { rawStream: { protocol: '/floodsub/1.0.0' } })
    const isSmall = mesh.length < 3
    const { first } = forward('block', TOPIC, 'from')
    expect(first.split(' ').sort().join(' ')).toBe(served)
    const outside = [...first.split(' '), ...(isSmall ? ['from'] : [])].filter((peer) => !mesh.includes(peer))
    expect(publish([])).toEqual([outside.length, outside.join(' ')])
    expect(publish(['static'])[0]).toBe(outside.length - 1)
  })

  it('an own block counts the peers that it was sent to', () => {
    const { gossip, publish } = setUp({ mesh: ['a'], peers: ['a', 'b', 'c'] })
    gossip.sendRpc = (peerId) => peerId !== 'c'
    expect(publish([])[0]).toBe(1)
  })

  it('a block is not forwarded to peers that sent it meanwhile, or that sent IDONTWANT', () => {
    const { gossip, forward } = setUp({ sent: { first: ['a', 'b'] } })
    gossip.idontwants.set('c', new Map([['first', 1]]))
    expect(forward('first').first).toBe('d')
  })

  it('counts an unknown topic as a small network', () => {
    const { gossip, forward } = setUp({})
    gossip.getSubscribers = () => [named('x')]
    expect(forward('block', 'other').first).toBe('x')
  })

  it('peers that sent the last block of the topic get the next one last, or not at all if they send it first', async () => {
    const { gossip, records, forward } = setUp({ sent: { first: ['b', 'c'], second: [] } })
    gossip.mesh.set('other', new Set(['c']))
    expect(await forward('first').later).toBe('')
    const { first, later } = forward('second')
    records.get('second')?.peers.add('c')
    expect(first).toBe('d')
    expect(await later).toBe('b')
    expect(forward('third', 'other').first).toBe('c')
  })
})
