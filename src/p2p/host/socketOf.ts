import { Socket } from 'node:net'

/**
 * The TCP socket under a connection. libp2p's connections carry it, though its types do not say so; undefined where a
 * release, or another transport, has none.
 */
export function socketOf(connection: object): Socket | undefined {
  const below: unknown = 'maConn' in connection ? connection.maConn : connection
  if (typeof below !== 'object' || below === null || !('socket' in below)) return undefined
  return below.socket instanceof Socket ? below.socket : undefined
}
