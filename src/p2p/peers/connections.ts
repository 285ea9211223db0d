import { type Connection, StreamCloseEvent, type StreamMuxer } from '@libp2p/interface'
import { describeError } from '../../lib/errors.ts'
import { DIRECTION, type Direction } from '../base/api.ts'
import type { P2pEvents } from '../base/events.ts'
import type { ConnectionEnd } from '../base/records.ts'

/** What is followed of the host. */
export interface ConnectionsHost {
  addEventListener(type: ConnectionEvent, listener: (event: CustomEvent<Connection>) => void): void
  removeEventListener(type: ConnectionEvent, listener: (event: CustomEvent<Connection>) => void): void
}
type ConnectionEvent = 'connection:open' | 'connection:close'

const CLOSE_TIMEOUT_MS = 1_000

/** Who is connected, kept from libp2p's events so that asking costs nothing. */
export type Connections = ReturnType<typeof createConnections>

export function createConnections(events: Pick<P2pEvents, 'emit'>) {
  /** First connection first. */
  const byPeer = new Map<string, Connection[]>()
  let unwatch = (): void => {}

  const ends = new WeakMap<Connection, { isLocal: boolean; error?: string }>()
  /** Of peers that we are closing. */
  const reasons = new Map<string, string>()
  /** Last connections of peers that are gone, which nobody has heard of yet. */
  const leaving = new Map<string, Connection>()

  const tellGone = (id: string): void => {
    const connection = leaving.get(id)
    if (connection === undefined) return
    leaving.delete(id)
    events.emit('gone', id, endOf(id, connection))
  }
  const onOpen = ({ detail: connection }: CustomEvent<Connection>): void => {
    // libp2p tells of one that ended while it was set up, too, and never of its end: the peer would stay for good.
    if (connection.status !== 'open' && connection.status !== 'closing') return
    const id = connection.remotePeer.toString()
    // It may be back before its end was told.
    tellGone(id)
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
      // The streams of the connection hear of its end after this.
      queueMicrotask(() => events.emit('fewerConnections', id))
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
  const all = (): Connection[] => [...byPeer.values()].flat()
  const newest = (peerId: string): Connection | undefined =>
    byPeer.get(peerId)?.findLast((connection) => connection.status === 'open')
  return {
    /** The newest that is open. */
    newest,
    /** Closes all but the newest. */
    closeOlder(peerId: string): void {
      const kept = newest(peerId)
      for (const connection of byPeer.get(peerId) ?? []) {
        // Closing one that may be dead in order would wait for it, and with it all requests on it.
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
    /** All, or those of one peer. */
    open: (peerId?: string): Connection[] => (peerId === undefined ? all() : [...(byPeer.get(peerId) ?? [])]),
    /** Orderly; resolves when closed, at the latest after a second. */
    async close(peerId: string, reason: string): Promise<void> {
      const closing = byPeer.get(peerId)
      if (closing === undefined) return
      reasons.set(peerId, reason)
      const signal = AbortSignal.timeout(CLOSE_TIMEOUT_MS)
      await Promise.all(
        closing.map((connection) => connection.close({ signal }).catch((error: Error) => connection.abort(error))),
      )
    },
    // libp2p's connections carry their multiplexer, though its types do not say so.
    /** Whose connection the multiplexer belongs to. */
    peerOf: (muxer: StreamMuxer): string | undefined =>
      all()
        .find((connection) => 'muxer' in connection && connection.muxer === muxer)
        ?.remotePeer.toString(),
    /** At once. */
    abort(peerId: string, reason: string): void {
      if (byPeer.has(peerId)) reasons.set(peerId, reason)
      for (const connection of byPeer.get(peerId) ?? []) connection.abort(new Error(reason))
    },
  }
}
