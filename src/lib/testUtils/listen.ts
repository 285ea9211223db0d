import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'

/** Listens on a loopback port that the system chooses. `close` also ends the connections. */
export async function listen(server: Server) {
  const sockets = new Set<Socket>()
  server.on('connection', (socket) => sockets.add(socket.once('close', () => sockets.delete(socket))))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  }
  return { port, url: `http://127.0.0.1:${port}`, close }
}
