import { type Agent, request } from 'node:http'
import { connect } from 'node:net'
import { createPatientClient } from '../../../src/jsonRpc/testUtils/patientClient.ts'
import type { Random } from '../random.ts'
import { type Fault, faultOfAnswer } from './answers.ts'

export interface HttpPort {
  url: string
  /** The token of the Engine API port. */
  bearer?: (() => string) | undefined
  /** The port refuses every request without the token. */
  isForbidden?: boolean
}

/** Longer than any call, except the stop that waits for all data to be on L1, 15 minutes at most. */
const ANSWER_MS = 90_000
const STOP = 'admin_stopBatcher'
const CLOSED = new Set(['ECONNRESET', 'EPIPE'])

interface Sent {
  method: string
  path: string
  headers: Record<string, string | string[]>
  body: Buffer
  isChunked: boolean
  /** Whether the server must answer it as a call. */
  isCall: boolean
}

/** Sends a body as clients do, or in an invalid way. Resolves to the fault of the response. */
export async function sendBody(random: Random, port: HttpPort, body: Buffer, agent: Agent): Promise<Fault> {
  const sent = makeRequest(random, port, body)
  const answer = await send(port, sent, agent)
  // The server refused the request while the body was sent, so no response arrives.
  if (answer === 'closed') return sent.isCall && !port.isForbidden ? 'the connection was closed' : undefined
  if (answer === 'late') return `no answer within ${ANSWER_MS} ms`
  if (answer === 'excused') return undefined
  const { status, text } = answer
  if (status >= 500) return `status ${status}: ${text.slice(0, 200)}`
  if (port.isForbidden && sent.isCall) return status === 401 ? undefined : `status ${status} without a token`
  if (!sent.isCall) return undefined
  if (status === 204) return faultOfAnswer(decode(body), undefined)
  if (status !== 200) return `status ${status}: ${text.slice(0, 200)}`
  return faultOfAnswer(decode(body), text)
}

const decode = (body: Buffer) => new TextDecoder().decode(body)

function makeRequest(random: Random, { bearer }: HttpPort, body: Buffer): Sent {
  const headers: Sent['headers'] = { 'content-type': 'application/json' }
  if (bearer !== undefined) headers.authorization = `Bearer ${bearer()}`
  const sent: Sent = { method: 'POST', path: '/', headers, body, isChunked: random.once(5), isCall: true }
  if (!random.once(4)) return sent
  sent.isCall = false
  switch (random.below(8)) {
    case 0:
      sent.method = random.of(['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE', 'PROPFIND', 'SEARCH'])
      break
    case 1:
      sent.path = random.of([
        '//',
        '/?a=b',
        '/x',
        '/healthz',
        '/metrics',
        '/%00',
        '/..%2f',
        '/dashboard/',
        '/dashboard/../..',
      ])
      break
    case 2:
      headers['content-type'] = random.of([
        'text/plain',
        '',
        'application/jsonp',
        'multipart/form-data',
        'a/b, application/json',
      ])
      break
    case 3:
      headers.host = random.of(['example.com', '', '[::1', 'localhost:99999', '127.0.0.1@evil'])
      break
    case 4:
      headers.origin = random.of(['https://evil.example', 'null', '', 'http://localhost:1', 'file://'])
      break
    case 5:
      headers.authorization = random.of([
        'Bearer',
        'Bearer ',
        'Bearer a.b.c',
        'Basic x',
        `Bearer ${'e30.'.repeat(500)}`,
      ])
      break
    case 6:
      headers[random.of(['accept-encoding', 'content-encoding', 'expect', 'upgrade', 'cookie', 'x-forwarded-for'])] =
        random.of(['gzip', '100-continue', 'websocket', 'x'.repeat(20_000), 'identity;q=0'])
      break
    default:
      headers['x-many'] = Array.from({ length: random.of([10, 3_000]) }, () => 'x')
  }
  return sent
}

function send(port: HttpPort, { method, path, headers, body, isChunked }: Sent, agent: Agent) {
  const { url } = port
  return new Promise<{ status: number; text: string } | 'closed' | 'late' | 'excused'>((resolve, reject) => {
    const length = isChunked ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) }
    const target = new URL(url)
    const options = {
      host: target.hostname,
      port: target.port,
      method,
      path,
      agent,
      headers: { ...headers, ...length },
    }
    const sent = request({ ...options, timeout: ANSWER_MS })
      .on('timeout', () => {
        const excused = body.includes(STOP) ? cannotSave(port) : Promise.resolve(false)
        // The stop is cancelled with its client, so the status is read before.
        excused.then((isExcused) => resolve(isExcused ? 'excused' : 'late')).finally(() => sent.destroy())
      })
      .on('error', (error: NodeJS.ErrnoException) => (CLOSED.has(error.code ?? '') ? resolve('closed') : reject(error)))
      // Upgrade to a protocol that the port does not serve.
      .on('upgrade', (_response, socket) => {
        socket.destroy()
        resolve('closed')
      })
      .on('response', (response) => {
        response.toArray().then(
          (chunks: Buffer[]) => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
          () => resolve('closed'),
        )
      })
    if (isChunked) {
      const middle = Math.floor(body.length / 2)
      sent.write(body.subarray(0, middle))
      sent.end(body.subarray(middle))
    } else sent.end(body)
  })
}

/** Whether a batch submitter is stopping and reports why its data does not reach L1. */
async function cannotSave({ url }: HttpPort): Promise<boolean> {
  const client = createPatientClient({ url })
  try {
    const status = (await client.request('admin_batcherStatus', [])) as { stopping: boolean; ok: boolean }
    return status.stopping && !status.ok
  } catch {
    // No status means no excuse. The run continues.
    return false
  } finally {
    await client.close()
  }
}

/** Sends bytes that are hardly HTTP. The server must end the connection without a fault of its own. */
export function sendGarbage(random: Random, { url }: HttpPort, body: Buffer): Promise<Fault> {
  const { hostname, port, host } = new URL(url)
  const head = random.of([
    `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length + 5}\r\n\r\n`,
    `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: -1\r\n\r\n`,
    `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`,
    `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n`,
    `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 99999999999\r\n\r\n`,
    `POST / HTTP/9.9\r\nHost: ${host}\r\n\r\n`,
    `POST  / HTTP/1.1\r\n\r\n`,
    `CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n`,
    `GET /dashboard/%ff HTTP/1.1\r\nHost: \r\n\r\n`,
    `OPTIONS * HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    '',
  ])
  const chance = random.below(3)
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(Number(port), hostname)
    socket
      .on('data', (chunk) => (answer += chunk.toString('latin1').slice(0, 1_000)))
      .on('error', () => socket.destroy())
      .on('close', () => resolve(/^HTTP\/1\.1 5/.test(answer) ? answer.split('\r\n')[0] : undefined))
    socket.write(head)
    if (chance === 0) socket.destroySoon()
    else socket.end(body)
  })
}
