import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { until } from '../../lib/testUtils/until.ts'

/** A port that drops every new SYN, as behind a firewall. */
export interface DeafListener {
  port: number
  close(): void
}

/** Size of the accept queue. The system takes one more connection. */
const BACKLOG = 1

/** A stopped process with a full accept queue. The system then answers no new connection (Linux). */
export async function startDeafListener(): Promise<DeafListener> {
  const script = `const s = require('net').createServer(); s.listen({ host: '127.0.0.1', port: 0, backlog: ${BACKLOG} }, () => console.log(s.address().port))`
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line]: unknown[] = await once(child.stdout, 'data')
  const port = Number(String(line))
  child.kill('SIGSTOP')
  // Until it has stopped, it would accept connections.
  await until('the stop', async () => (await readFile(`/proc/${child.pid}/stat`, 'utf8')).includes(') T '))
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
