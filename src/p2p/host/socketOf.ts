import { Socket } from 'node:net'

/**
 * The TCP socket of a connection. libp2p's connections hold it, although their types do not declare it. Undefined in a
 * release or a transport without a socket.
 */
export function socketOf(connection: object): Socket | undefined {
  const below: unknown = 'maConn' in connection ? connection.maConn : connection
  if (typeof below !== 'object' || below === null || !('socket' in below)) return undefined
  return below.socket instanceof Socket ? below.socket : undefined
}
