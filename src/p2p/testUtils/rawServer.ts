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

/** Listens on a loopback port of the system's choice until the test is over: `/ip4/127.0.0.1/tcp/…`. */
export async function listenInTest(server: Server): Promise<string> {
  const port = await listen(server)
  onTestFinished(() => void server.close())
  return `/ip4/127.0.0.1/tcp/${port}`
}

/** A TCP server that does with each connection what the test says. */
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

/** On loopback, where nothing listens: only root may, and the system gives it to nobody. */
export const CLOSED_PORT = 1
