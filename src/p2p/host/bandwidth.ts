import type { Socket } from 'node:net'
import type { MultiaddrConnection } from '@libp2p/interface'
import { socketOf } from './socketOf.ts'

export interface Bytes {
  in: number
  out: number
}

/**
 * Bytes that passed the TCP sockets of a host, from its start on; those of closed connections included.
 * The sockets count for themselves: a connection costs an entry in a set, a packet nothing.
 */
export function createBandwidth() {
  const open = new Set<Socket>()
  const closed: Bytes = { in: 0, out: 0 }
  return {
    /** Tell it of each connection, as early as possible; twice does no harm. */
    add(connection: MultiaddrConnection): void {
      const socket = socketOf(connection)
      if (socket === undefined || socket.destroyed || open.has(socket)) return
      open.add(socket)
      socket.once('close', () => {
        open.delete(socket)
        closed.in += socket.bytesRead
        closed.out += socket.bytesWritten
      })
    },
    total(): Bytes {
      const sum = { ...closed }
      for (const socket of open) {
        sum.in += socket.bytesRead
        sum.out += socket.bytesWritten
      }
      return sum
    },
  }
}
