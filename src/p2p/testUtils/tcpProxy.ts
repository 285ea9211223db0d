import { connect, createServer, type Socket } from 'node:net'

/** A link that a test can break: everything between two hosts passes through it. */
export interface TcpProxy {
  port: number
  /** What is connected now passes nothing on any more, and is not closed either: as when a cable is pulled. */
  freeze(): void
  /** Closes what is connected, and refuses more until `allow`. */
  cut(): void
  allow(): void
  close(): Promise<void>
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let isCut = false
  const server = createServer((client) => {
    client.on('error', () => {})
    if (isCut) {
      client.destroy()
      return
    }
    const target = connect(targetPort, '127.0.0.1')
    target.on('error', () => client.destroy())
    const pair: [Socket, Socket] = [client, target]
    pairs.add(pair)
    client.pipe(target)
    target.pipe(client)
    client.on('close', () => {
      pairs.delete(pair)
      if (!target.isPaused()) target.destroy()
    })
    target.on('close', () => {
      if (!client.isPaused()) client.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    freeze() {
      for (const sockets of pairs) {
        for (const socket of sockets) {
          socket.unpipe()
          socket.pause()
        }
      }
    },
    cut() {
      isCut = true
      for (const sockets of pairs) for (const socket of sockets) socket.destroy()
    },
    allow() {
      isCut = false
    },
    async close() {
      for (const sockets of pairs) for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
