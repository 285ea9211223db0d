import { type Connection, type PeerId, StreamCloseEvent, type StreamMuxer } from '@libp2p/interface'
import { describeError } from '../../lib/errors.ts'
import { DIRECTION, type Direction } from '../api.ts'

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
  close(peerId: string, reason: string): Promise<void>
  /** Whose connection the multiplexer belongs to. */
  peerOf(muxer: StreamMuxer): string | undefined
  /** At once. */
  abort(peerId: string, reason: string): void
  /** The newest that is open. */
  newest(peerId: string): Connection | undefined
  /** Closes all but the newest. */
  closeOlder(peerId: string): void
}

/** What is needed of the host. */
export interface ConnectionsHost {
  addEventListener(type: ConnectionEvent, listener: (event: CustomEvent<Connection>) => void): void
  removeEventListener(type: ConnectionEvent, listener: (event: CustomEvent<Connection>) => void): void
  getConnections(): Connection[]
  hangUp(id: PeerId, options: { signal: AbortSignal }): Promise<void>
}
type ConnectionEvent = 'connection:open' | 'connection:close'

/** Who ended a peer's last connection, and why as far as is known. */
export interface ConnectionEnd {
  by: 'us' | 'peer'
  cause: string
}

export interface ConnectionListener {
  onOpen(): void
  onClose(): void
  /** A connected peer has opened, or answered, one more: the others may be dead. */
  onAnother(newest: Connection, others: Connection[]): void
  /** One of a peer's connections is gone, others are left. */
  onFewer(peerId: string): void
  /** First connection of a peer; last one gone. */
  onPeer(peerId: string, address: string, direction: Connection['direction']): void
  onPeerGone(peerId: string, end: ConnectionEnd): void
}

const CLOSE_TIMEOUT_MS = 1_000

export function createConnections(host: ConnectionsHost, listener: ConnectionListener): Connections {
  /** First connection first. */
  const byPeer = new Map<string, { id: PeerId; connections: Connection[] }>()

  const ends = new WeakMap<Connection, { isLocal: boolean; error?: string }>()
  /** Of peers that we are closing. */
  const reasons = new Map<string, string>()
  /** Last connections of peers that are gone, which the listener has not heard of yet. */
  const leaving = new Map<string, Connection>()

  const tellGone = (id: string): void => {
    const connection = leaving.get(id)
    if (connection === undefined) return
    leaving.delete(id)
    listener.onPeerGone(id, endOf(id, connection))
  }
  const onOpen = ({ detail: connection }: CustomEvent<Connection>): void => {
    // libp2p tells of one that ended while it was set up, too, and never of its end: the peer would stay for good.
    if (connection.status !== 'open' && connection.status !== 'closing') return
    const id = connection.remotePeer.toString()
    // It may be back before its end was told.
    tellGone(id)
    const entry = byPeer.get(id)
    listener.onOpen()
    connection.addEventListener('close', (event) => {
      if (!(event instanceof StreamCloseEvent)) return
      const said = event.error === undefined ? {} : { error: describeError(event.error) }
      ends.set(connection, { isLocal: event.local === true, ...said })
    })
    if (entry !== undefined) {
      const others = [...entry.connections]
      entry.connections.push(connection)
      listener.onAnother(connection, others)
      return
    }
    byPeer.set(id, { id: connection.remotePeer, connections: [connection] })
    listener.onPeer(id, connection.remoteAddr.toString(), connection.direction)
  }
  const onClose = ({ detail: connection }: CustomEvent<Connection>): void => {
    const id = connection.remotePeer.toString()
    const entry = byPeer.get(id)
    if (entry === undefined) return
    const left = entry.connections.filter((other) => other.id !== connection.id)
    if (left.length === entry.connections.length) return
    listener.onClose()
    entry.connections = left
    if (left.length > 0) {
      // The streams of the connection hear of its end after this.
      queueMicrotask(() => listener.onFewer(id))
      return
    }
    byPeer.delete(id)
    // The connection's own listeners, which hear the cause, are called after this.
    leaving.set(id, connection)
    queueMicrotask(() => tellGone(id))
  }
  const endOf = (id: string, connection: Connection): ConnectionEnd => {
    const reason = reasons.get(id)
    reasons.delete(id)
    const end = ends.get(connection)
    if (reason !== undefined) return { by: 'us', cause: reason }
    // A reset by the other side counts as an error of our socket.
    if (end?.isLocal === true && !/ECONNRESET|EPIPE/.test(end.error ?? ''))
      return { by: 'us', cause: end.error ?? 'closed' }
    return { by: 'peer', cause: end?.error ?? 'closed' }
  }
  const newest = (peerId: string): Connection | undefined =>
    byPeer.get(peerId)?.connections.findLast((connection) => connection.status === 'open')
  return {
    newest,
    closeOlder(peerId) {
      const kept = newest(peerId)
      for (const connection of byPeer.get(peerId)?.connections ?? []) {
        // Closing one that may be dead in order would wait for it, and with it all requests on it.
        if (connection !== kept) connection.abort(new Error('replaced by a newer connection'))
      }
    },
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
    async close(peerId, reason) {
      const entry = byPeer.get(peerId)
      if (entry === undefined) return
      reasons.set(peerId, reason)
      await host.hangUp(entry.id, { signal: AbortSignal.timeout(CLOSE_TIMEOUT_MS) })
    },
    // libp2p's connections carry their multiplexer, though its types do not say so.
    peerOf: (muxer) =>
      host
        .getConnections()
        .find((connection) => 'muxer' in connection && connection.muxer === muxer)
        ?.remotePeer.toString(),
    abort(peerId, reason) {
      if (byPeer.has(peerId)) reasons.set(peerId, reason)
      for (const connection of byPeer.get(peerId)?.connections ?? []) connection.abort(new Error(reason))
    },
  }
}
