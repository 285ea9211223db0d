import type { Socket } from 'node:net'
import type { MultiaddrConnection } from '@libp2p/interface'
import { socketOf } from './socketOf.ts'

export interface Bytes {
  in: number
  out: number
}

/**
 * Bytes of all TCP sockets of a host since its start, including closed connections. The sockets do the counting: a
 * connection costs a set entry, a packet nothing.
 */
export function createBandwidth() {
  const open = new Set<Socket>()
  const closed: Bytes = { in: 0, out: 0 }
  return {
    /** Call it for each connection, as early as possible. A second call has no effect. */
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
