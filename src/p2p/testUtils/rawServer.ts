import { createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { listen } from '../../lib/testUtils/listen.ts'

/** Listens on a loopback port that the system chooses until the end of the test: `/ip4/127.0.0.1/tcp/…`. */
export async function listenInTest(server: Server): Promise<string> {
  const { port, close } = await listen(server)
  onTestFinished(close)
  return `/ip4/127.0.0.1/tcp/${port}`
}

/** A TCP server with a handler for each connection. */
export async function startRawServer(onSocket: (socket: Socket) => void): Promise<string> {
  return listenInTest(
    createServer((socket) => {
      socket.on('error', () => {})
      onSocket(socket)
    }),
  )
}

/** A loopback port without a listener: only root may bind it, and the system never assigns it. */
export const CLOSED_PORT = 1
