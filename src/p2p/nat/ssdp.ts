import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { ownAddresses } from './defaultRoute.ts'

const SSDP_GROUP = { ip: '239.255.255.250', port: 1900 }
/** UPnP Device Architecture: a search is a UDP packet and may be lost, so it is sent several times. */
const SENDS = 3
const SEND_AGAIN_MS = 500
const MAX_ANSWER_BYTES = 4096
const TARGETS = [1, 2].map((version) => `urn:schemas-upnp-org:device:InternetGatewayDevice:${version}`)

/**
 * Searches for routers on each network of this machine. Yields the description URL of each router once, until the
 * signal aborts. Ignores an answer that names another host than its sender, since an unauthenticated host must not
 * choose where requests go.
 */
export async function* searchRouters(
  signal: AbortSignal,
  options: { to?: { ip: string; port: number }; from?: readonly string[] } = {},
): AsyncGenerator<URL> {
  const { to = SSDP_GROUP, from = ownAddresses() } = options
  const found: URL[] = []
  const known = new Set<string>()
  let wake = (): void => {}
  const onAnswer = (answer: Buffer, sender: RemoteInfo): void => {
    const url = locationOf(answer, sender.address)
    if (url === undefined || known.has(url.href)) return
    known.add(url.href)
    found.push(url)
    wake()
  }
  const onAbort = (): void => wake()
  signal.addEventListener('abort', onAbort)
  const sockets = (await Promise.all(from.map((ip) => openSocket(ip)))).filter((socket) => socket !== undefined)
  for (const socket of sockets) socket.on('message', onAnswer)
  const search = (): void => {
    for (const socket of sockets) {
      for (const target of TARGETS) socket.send(searchOf(target, to), to.port, to.ip, () => {})
    }
  }
  search()
  const timers = Array.from({ length: SENDS - 1 }, (_, index) => setTimeout(search, SEND_AGAIN_MS * (index + 1)))
  try {
    while (sockets.length > 0 && !signal.aborted) {
      const url = found.shift()
      if (url !== undefined) yield url
      else await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    timers.forEach(clearTimeout)
    signal.removeEventListener('abort', onAbort)
    for (const socket of sockets) socket.close()
  }
}

/** Undefined when this address cannot be used. */
async function openSocket(ip: string): Promise<Socket | undefined> {
  const socket = createSocket('udp4')
  try {
    socket.bind(0, ip)
    await once(socket, 'listening')
    socket.setMulticastInterface(ip)
    socket.on('error', () => {})
    return socket
  } catch {
    socket.close()
    return undefined
  }
}

function searchOf(target: string, to: { ip: string; port: number }): string {
  const lines = ['M-SEARCH * HTTP/1.1', `HOST: ${to.ip}:${to.port}`, 'MAN: "ssdp:discover"', 'MX: 1', `ST: ${target}`]
  return `${lines.join('\r\n')}\r\n\r\n`
}

function locationOf(answer: Buffer, sender: string): URL | undefined {
  if (answer.length > MAX_ANSWER_BYTES) return undefined
  const text = answer.toString('latin1')
  if (!/^HTTP\/1\.[01] 200 /.test(text) || !text.includes('InternetGatewayDevice')) return undefined
  const url = URL.parse(/^location:[ \t]*(\S+)/im.exec(text)?.[1] ?? '')
  return url?.protocol === 'http:' && url.hostname === sender ? url : undefined
}
