import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A port that lets every new SYN fall, as one behind a firewall. */
export interface DeafListener {
  port: number
  close(): void
}

/** Connections that wait to be accepted: the system takes one more than this. */
const BACKLOG = 1

/** A process that listens, is stopped, and whose queue is filled: the system then answers nobody (Linux). */
export async function startDeafListener(): Promise<DeafListener> {
  const script = `const s = require('net').createServer(); s.listen({ host: '127.0.0.1', port: 0, backlog: ${BACKLOG} }, () => console.log(s.address().port))`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line]: unknown[] = await once(child.stdout, 'data')
  const port = Number(String(line))
  child.kill('SIGSTOP')
  const sockets: Socket[] = []
  for (let i = 0; i <= BACKLOG; i++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    await once(socket, 'connect')
  }
  return {
    port,
    close() {
      for (const socket of sockets) socket.destroy()
      child.kill('SIGKILL')
    },
  }
}
