import { type Connection, StreamCloseEvent, type StreamMuxer } from '@libp2p/interface'
import { describeError } from '../../lib/errors.ts'
import { DIRECTION, type Direction } from '../base/api.ts'
import type { P2pEvents } from '../base/events.ts'
import type { ConnectionEnd } from '../base/records.ts'

export interface ConnectionsHost {
  addEventListener(type: ConnectionEvent, listener: (event: CustomEvent<Connection>) => void): void
  removeEventListener(type: ConnectionEvent, listener: (event: CustomEvent<Connection>) => void): void
}
type ConnectionEvent = 'connection:open' | 'connection:close'

const CLOSE_TIMEOUT_MS = 1_000

/** Index of open connections, built from libp2p's events, so that lookups are cheap. */
export type Connections = ReturnType<typeof createConnections>

export function createConnections(events: Pick<P2pEvents, 'emit'>) {
  /** The oldest connection of a peer comes first. */
  const byPeer = new Map<string, Connection[]>()
  let unwatch = (): void => {}

  const ends = new WeakMap<Connection, { isLocal: boolean; error?: string }>()
  const reasons = new Map<string, string>()
  /** The last connection of a disconnected peer, until `disconnected` is emitted. */
  const leaving = new Map<string, Connection>()

  const emitDisconnected = (id: string): void => {
    const connection = leaving.get(id)
    if (connection === undefined) return
    leaving.delete(id)
    events.emit('disconnected', id, endOf(id, connection))
  }
  const onOpen = ({ detail: connection }: CustomEvent<Connection>): void => {
    // libp2p also reports a connection that closed during setup, but never its close event. The peer would stay listed
    // forever.
    if (connection.status !== 'open' && connection.status !== 'closing') return
    const id = connection.remotePeer.toString()
    // The peer may reconnect before its `disconnected` event was emitted.
    emitDisconnected(id)
    const others = byPeer.get(id)
    connection.addEventListener('close', (event) => {
      if (!(event instanceof StreamCloseEvent)) return
      const said = event.error === undefined ? {} : { error: describeError(event.error) }
      ends.set(connection, { isLocal: event.local === true, ...said })
    })
    byPeer.set(id, [...(others ?? []), connection])
    if (others !== undefined) events.emit('anotherConnection', connection, others)
    else events.emit('connected', id, connection.remoteAddr.toString(), connection.direction)
  }
  const onClose = ({ detail: connection }: CustomEvent<Connection>): void => {
    const id = connection.remotePeer.toString()
    const before = byPeer.get(id) ?? []
    const left = before.filter((other) => other.id !== connection.id)
    if (left.length === before.length) return
    if (left.length > 0) {
      byPeer.set(id, left)
      // The connection's streams receive its close event only after this listener.
      queueMicrotask(() => events.emit('fewerConnections', id))
      return
    }
    byPeer.delete(id)
    // The connection's own listeners, which receive the cause, run after this listener.
    leaving.set(id, connection)
    queueMicrotask(() => emitDisconnected(id))
  }
  const endOf = (id: string, connection: Connection): ConnectionEnd => {
    const reason = reasons.get(id)
    reasons.delete(id)
    const end = ends.get(connection)
    if (reason !== undefined) return { by: 'us', cause: reason }
    // A reset by the remote side appears as an error of our socket.
    if (end?.isLocal === true && !/ECONNRESET|EPIPE/.test(end.error ?? ''))
      return { by: 'us', cause: end.error ?? 'closed' }
    return { by: 'peer', cause: end?.error ?? 'closed' }
  }
  const all = (): Connection[] => [...byPeer.values()].flat()
  const newest = (peerId: string): Connection | undefined =>
    byPeer.get(peerId)?.findLast((connection) => connection.status === 'open')
  return {
    newest,
    /** Closes all connections of the peer but the newest. */
    closeOlder(peerId: string): void {
      const kept = newest(peerId)
      for (const connection of byPeer.get(peerId) ?? []) {
        // An older connection may be dead. An orderly close would wait for it and for all its requests.
        if (connection !== kept) connection.abort(new Error('replaced by a newer connection'))
      }
    },
    /** Follows the host until `stop`. */
    watch(host: ConnectionsHost): void {
      host.addEventListener('connection:open', onOpen)
      host.addEventListener('connection:close', onClose)
      unwatch = () => {
        host.removeEventListener('connection:open', onOpen)
        host.removeEventListener('connection:close', onClose)
      }
    },
    stop: (): void => unwatch(),
    peers: (): string[] => [...byPeer.keys()],
    isConnected: (peerId: string): boolean => byPeer.has(peerId),
    direction(peerId: string): Direction {
      const direction = byPeer.get(peerId)?.[0]?.direction
      if (direction === undefined) return DIRECTION.unknown
      return direction === 'inbound' ? DIRECTION.inbound : DIRECTION.outbound
    },
    sinceMs: (peerId: string): number | undefined => byPeer.get(peerId)?.[0]?.timeline.open,
    /** All connections, or those of one peer. */
    open: (peerId?: string): Connection[] => (peerId === undefined ? all() : [...(byPeer.get(peerId) ?? [])]),
    /** Orderly close. Resolves when closed, after a second at the latest. */
    async close(peerId: string, reason: string): Promise<void> {
      const closing = byPeer.get(peerId)
      if (closing === undefined) return
      reasons.set(peerId, reason)
      const signal = AbortSignal.timeout(CLOSE_TIMEOUT_MS)
      await Promise.all(
        closing.map((connection) => connection.close({ signal }).catch((error: Error) => connection.abort(error))),
      )
    },
    // libp2p's connections hold their multiplexer, although their type does not declare it.
    /** The peer whose connection uses this multiplexer. */
    peerOf: (muxer: StreamMuxer): string | undefined =>
      all()
        .find((connection) => 'muxer' in connection && connection.muxer === muxer)
        ?.remotePeer.toString(),
    /** Closes all connections of the peer at once. */
    abort(peerId: string, reason: string): void {
      if (byPeer.has(peerId)) reasons.set(peerId, reason)
      for (const connection of byPeer.get(peerId) ?? []) connection.abort(new Error(reason))
    },
  }
}
