import { nextTurn } from '../../lib/nextTurn.ts'
import type { UdpSocket } from '../discovery/udpSocket.ts'

/** UDP sockets in memory on 127.0.0.1. Unlike real ones, they deliver every packet, in the order of sending. */
export function createUdpLink() {
  const listeners: Parameters<UdpSocket['onPacket']>[0][] = []
  let underWay = 0
  let isCut = false
  return {
    async open(): Promise<UdpSocket> {
      const port = listeners.push(undefined)
      return {
        port,
        hasIp4: true,
        hasIp6: false,
        send(_ip, toPort, packet) {
          underWay += 1
          setImmediate(() => {
            underWay -= 1
            if (!isCut) listeners[toPort - 1]?.(packet, '127.0.0.1', port)
          })
        },
        onPacket(listener) {
          listeners[port - 1] = listener
        },
        async close() {
          listeners[port - 1] = undefined
        },
      }
    },
    /** From now on all packets are lost. */
    cut(): void {
      isCut = true
    },
    /** Resolves when no packet is under way. */
    async quiet(): Promise<void> {
      while (underWay > 0) await nextTurn()
    },
  }
}
