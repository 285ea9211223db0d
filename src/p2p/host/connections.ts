import type { Connection, PeerId } from '@libp2p/interface'
import { DIRECTION, type Direction } from '../api.ts'
import type { Host } from './host.ts'

/** Who is connected, kept from libp2p's events so that asking costs nothing. */
export interface Connections {
  start(): void
  stop(): void
  peers(): string[]
  isConnected(peerId: string): boolean
  direction(peerId: string): Direction
  sinceMs(peerId: string): number | undefined
  /** All, or those of one peer. */
  open(peerId?: string): Connection[]
  /** Orderly; resolves when closed, at the latest after a second. */
  close(peerId: string): Promise<void>
  /** At once. */
  abort(peerId: string, reason: string): void
}

export interface ConnectionListener {
  onOpen(): void
  onClose(): void
  /** A connected peer has opened, or answered, one more: the others may be dead. */
  onAnother(others: Connection[]): void
  /** First connection of a peer; last one gone. */
  onPeer(peerId: string, address: string): void
  onPeerGone(peerId: string): void
}

const CLOSE_TIMEOUT_MS = 1_000

export function createConnections(host: Host, listener: ConnectionListener): Connections {
  /** First connection first. */
  const byPeer = new Map<string, { id: PeerId; connections: Connection[] }>()

  const onOpen = ({ detail: connection }: CustomEvent<Connection>): void => {
    const id = connection.remotePeer.toString()
    const entry = byPeer.get(id)
    listener.onOpen()
    if (entry !== undefined) {
      listener.onAnother([...entry.connections])
      entry.connections.push(connection)
      return
    }
    byPeer.set(id, { id: connection.remotePeer, connections: [connection] })
    listener.onPeer(id, connection.remoteAddr.toString())
  }
  const onClose = ({ detail: connection }: CustomEvent<Connection>): void => {
    const id = connection.remotePeer.toString()
    const entry = byPeer.get(id)
    if (entry === undefined) return
    const left = entry.connections.filter((other) => other.id !== connection.id)
    if (left.length === entry.connections.length) return
    listener.onClose()
    entry.connections = left
    if (left.length > 0) return
    byPeer.delete(id)
    listener.onPeerGone(id)
  }
  return {
    start() {
      host.addEventListener('connection:open', onOpen)
      host.addEventListener('connection:close', onClose)
    },
    stop() {
      host.removeEventListener('connection:open', onOpen)
      host.removeEventListener('connection:close', onClose)
    },
    peers: () => [...byPeer.keys()],
    isConnected: (peerId) => byPeer.has(peerId),
    direction(peerId) {
      const direction = byPeer.get(peerId)?.connections[0]?.direction
      if (direction === undefined) return DIRECTION.unknown
      return direction === 'inbound' ? DIRECTION.inbound : DIRECTION.outbound
    },
    sinceMs: (peerId) => byPeer.get(peerId)?.connections[0]?.timeline.open,
    open: (peerId) => (peerId === undefined ? host.getConnections() : [...(byPeer.get(peerId)?.connections ?? [])]),
    async close(peerId) {
      const entry = byPeer.get(peerId)
      if (entry !== undefined) await host.hangUp(entry.id, { signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) })
    },
    abort(peerId, reason) {
      for (const connection of byPeer.get(peerId)?.connections ?? []) connection.abort(new Error(reason))
    },
  }
}
