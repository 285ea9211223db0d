import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { listen } from '../../src/lib/testUtils/listen.ts'

/** The target of a guarded address: a server, or a function that answers instead. */
export type Guarded = string | ((path: string, response: ServerResponse) => boolean | undefined)

export interface GuardedEndpoints {
  /** The address of an endpoint, with user and password. */
  url(name: string, protocol?: 'http' | 'ws'): string
  /** Endpoints that accepted a request. */
  readonly entered: ReadonlySet<string>
  /** Refused requests: endpoint and authorization. */
  readonly refused: string[]
  close(): Promise<void>
}

export const USER = 'us@er'
export const PASSWORD = 'pä:ss/wörd%'
const BASIC = `Basic ${Buffer.from(`${USER}:${PASSWORD}`).toString('base64')}`

/** All forms in which the password could appear in a text. */
export const SECRETS: readonly string[] = [
  PASSWORD,
  encodeURIComponent(PASSWORD),
  new URL(`http://u:${encodeURIComponent(PASSWORD)}@h`).password,
  BASIC.slice(6),
]

/**
 * One server with a path for each endpoint. It accepts requests with user and password. `/l2` is the Engine API, with its token.
 */
export async function startGuardedEndpoints(
  endpoints: Readonly<
    Record<string, { backend: string; answer?: (path: string, response: ServerResponse) => boolean }>
  >,
): Promise<GuardedEndpoints> {
  const entered = new Set<string>()
  const refused: string[] = []
  /** The target of an accepted request. */
  const enter = ({ url = '', headers }: IncomingMessage) => {
    const [, name = '', path = ''] = /^\/([^/?]+)(.*)$/.exec(url) ?? []
    const endpoint = endpoints[name]
    const { authorization = '' } = headers
    const isRight = name === 'l2' ? authorization.startsWith('Bearer ') : authorization === BASIC
    if (endpoint === undefined || !isRight) {
      refused.push(`${name} ${authorization}`)
      return undefined
    }
    entered.add(name)
    return { ...endpoint, path: path.startsWith('/') ? path : `/${path}` }
  }
  const server = createServer((incoming, response) => {
    const to = enter(incoming)
    if (to === undefined) return void response.writeHead(401, { 'www-authenticate': 'Basic' }).end()
    if (to.answer?.(to.path, response)) return
    const { host: _, authorization, ...headers } = incoming.headers
    const passed = authorization?.startsWith('Bearer ') ? { ...headers, authorization } : headers
    const onward = request(
      new URL(to.path, to.backend),
      { method: incoming.method ?? 'GET', headers: passed },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    onward.on('error', () => response.destroy())
    incoming.pipe(onward)
  })
  server.on('upgrade', (incoming, socket, head) => {
    const to = enter(incoming)
    if (to === undefined) return void socket.end('HTTP/1.1 401 Unauthorized\r\n\r\n')
    const onward = connect(Number(new URL(to.backend).port), '127.0.0.1')
    const names = incoming.rawHeaders.filter((_, index) => index % 2 === 0)
    const lines = names.map((name, index) => `${name}: ${incoming.rawHeaders[2 * index + 1]}`)
    onward.write(`GET / HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
    onward.write(head)
    onward.pipe(socket).pipe(onward)
    onward.on('error', () => socket.destroy())
    socket.on('error', () => onward.destroy())
  })
  const { port, close } = await listen(server)
  return {
    url: (name, protocol = 'http') =>
      `${protocol}://${encodeURIComponent(USER)}:${encodeURIComponent(PASSWORD)}@127.0.0.1:${port}/${name}`,
    entered,
    refused,
    close,
  }
}
