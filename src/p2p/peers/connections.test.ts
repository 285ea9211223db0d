import { type Connection, StreamCloseEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { silentLogger } from '../../lib/logger.ts'
import { createP2pEvents } from '../base/events.ts'
import { type ConnectionsHost, createConnections } from './connections.ts'

type Listener = (event: CustomEvent<Connection>) => void

function setUp() {
  const listeners = new Map<string, Listener>()
  const host: ConnectionsHost = {
    addEventListener: (type, listener) => void listeners.set(type, listener),
    removeEventListener: (type) => void listeners.delete(type),
  }
  const emitted: string[] = []
  const events = createP2pEvents({ logger: silentLogger })
  events.on('anotherConnection', () => emitted.push('another'))
  events.on('fewerConnections', () => emitted.push('fewer'))
  events.on('connected', (peer) => emitted.push(`${peer} is here`))
  events.on('disconnected', (peer, { by, cause }) => emitted.push(`${peer} is gone: ${by}, ${cause}`))
  const connections = createConnections(events)
  connections.watch(host)
  let count = 0
  const connect = (peer: string) => {
    count += 1
    const target = new EventTarget()
    // The members that the code uses.
    const connection = Object.assign(target, {
      id: `connection ${count}`,
      remotePeer: { toString: () => peer },
      remoteAddr: '/ip4/127.0.0.1/tcp/1',
      direction: 'inbound',
      status: 'open',
      timeline: { open: 1 },
    }) as object as Connection
    const dispatch = (type: string) => listeners.get(type)?.(new CustomEvent(type, { detail: connection }))
    dispatch('connection:open')
    return (error?: Error) => {
      dispatch('connection:close')
      target.dispatchEvent(new StreamCloseEvent(false, error))
    }
  }
  return { connect, connections, emitted }
}

describe('createConnections', () => {
  it('reports connections and disconnections of peers, with the cause if known', async () => {
    const { connect, connections, emitted } = setUp()
    const close = connect('a')
    const another = connect('a')
    close()
    await new Promise(setImmediate)
    expect(connections.isConnected('a')).toBe(true)
    another(new Error('reset'))
    await new Promise(setImmediate)
    expect(connections.peers()).toEqual([])
    expect(emitted).toEqual(['a is here', 'another', 'fewer', 'a is gone: peer, reset'])
  })

  it('reports a disconnection before an immediate reconnection', async () => {
    const { connect, connections, emitted } = setUp()
    connect('a')()
    connect('a')
    await new Promise(setImmediate)
    expect(connections.isConnected('a')).toBe(true)
    expect(emitted).toEqual(['a is here', 'a is gone: peer, closed', 'a is here'])
  })
})
