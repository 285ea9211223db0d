import { Socket } from 'node:net'
import type { Connection, MultiaddrConnection } from '@libp2p/interface'

/**
 * The TCP socket under a connection. libp2p's connections carry it, though its types do not say so; undefined where a
 * release, or another transport, has none.
 */
export function socketOf(connection: Connection | MultiaddrConnection): Socket | undefined {
  const below: unknown = 'maConn' in connection ? connection.maConn : connection
  if (typeof below !== 'object' || below === null || !('socket' in below)) return undefined
  return below.socket instanceof Socket ? below.socket : undefined
}
