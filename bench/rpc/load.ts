import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

// A cheap client: requests over plain sockets. It reads only the length of responses.

const HEAD_END = Buffer.from('\r\n\r\n')
const LAST_CHUNK = Buffer.from('0\r\n\r\n')

/**
 * The number of answered calls, and the rate after the first quarter of the time. Each connection sends its next request when its
 * response is complete.
 */
export async function measureRate(
  url: string,
  call: { method: string; params: readonly unknown[] },
  { connections, seconds }: { connections: number; seconds: number },
): Promise<{ calls: number; perSecond: number }> {
  const { hostname, port, host } = new URL(url)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call })
  const request = Buffer.from(
    `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  let answered = 0
  const sockets = await Promise.all(
    Array.from({ length: connections }, async () => {
      const socket = connect(Number(port), hostname)
      await once(socket, 'connect')
      socket.setNoDelay(true)
      onAnswers(socket, (head) => {
        if (!head.startsWith('HTTP/1.1 200')) throw new Error(`${call.method}: ${head.split('\r\n')[0]}`)
        answered += 1
        socket.write(request)
      })
      return socket
    }),
  )
  for (const socket of sockets) socket.write(request)
  await delay(seconds * 250)
  const before = answered
  const startMs = performance.now()
  await delay(seconds * 1000)
  const perSecond = ((answered - before) * 1000) / (performance.now() - startMs)
  for (const socket of sockets) socket.destroy()
  return { calls: answered, perSecond }
}

/** Calls back with the head of each complete response. */
function onAnswers(socket: Socket, onAnswer: (head: string) => void): void {
  let head: string | undefined
  let start: Uint8Array[] = []
  /** Remaining bytes; undefined if the response is chunked. */
  let missing: number | undefined
  socket.on('data', (data: Buffer) => {
    if (head === undefined) {
      start.push(data)
      const begun = Buffer.concat(start)
      const end = begun.indexOf(HEAD_END)
      if (end < 0) return
      head = begun.toString('latin1', 0, end)
      const length = /^content-length: *(\d+)/im.exec(head)?.[1]
      missing = length === undefined ? undefined : Number(length)
      data = begun.subarray(end + HEAD_END.length)
      start = []
    }
    if (missing !== undefined) missing -= data.length
    const isWhole = missing === undefined ? data.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) : missing <= 0
    if (!isWhole) return
    const whole = head
    head = undefined
    onAnswer(whole)
  })
}
