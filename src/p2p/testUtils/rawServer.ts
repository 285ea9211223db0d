import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return address.port
}

/** Listens on a loopback port that the system chooses until the end of the test: `/ip4/127.0.0.1/tcp/…`. */
export async function listenInTest(server: Server): Promise<string> {
  const port = await listen(server)
  onTestFinished(() => void server.close())
  return `/ip4/127.0.0.1/tcp/${port}`
}

/** A TCP server with a handler for each connection. */
export async function startRawServer(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>()
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
  })
  return listenInTest(
    createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      onSocket(socket)
    }),
  )
}

/** A loopback port without a listener: only root may bind it, and the system never assigns it. */
export const CLOSED_PORT = 1
