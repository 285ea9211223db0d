import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { listen } from '../../lib/testUtils/listen.ts'
import type { SearchPlaces } from '../nat/findNatRouter.ts'

/** A router on loopback. Mappings are named `udp 4000 -> 4001`: external, internal. */
export interface TestRouter {
  /** Addresses for the search. */
  places: SearchPlaces
  externalIp: string
  readonly mappings: Map<string, number>
  /** Number of requests of any kind. */
  requests: number
  /** True: stop answering. */
  isDead: boolean
  /** UPnP error codes or NAT-PMP results of the next mapping requests. */
  readonly refusals: number[]
  close(): Promise<void>
}

const NOWHERE = { natPmp: { ips: [], port: 1 }, ssdp: { to: { ip: '127.0.0.1', port: 1 }, from: [] } }

function newRouter(): TestRouter {
  return {
    places: NOWHERE,
    externalIp: '203.0.113.7',
    mappings: new Map(),
    requests: 0,
    isDead: false,
    refusals: [],
    close: async () => {},
  }
}

/**
 * Speaks NAT-PMP (RFC 6886). `drop`: number of first requests to lose. `shift`: external ports are higher by this
 * number.
 */
export async function startNatPmpRouter(options: { drop?: number; shift?: number } = {}): Promise<TestRouter> {
  const router = newRouter()
  const socket = createSocket('udp4')
  let lost = options.drop ?? 0
  socket.on('message', (request, from) => {
    router.requests += 1
    if (router.isDead || lost-- > 0) return
    const opcode = request[1] ?? 0
    const answer = Buffer.alloc(opcode === 0 ? 12 : 16)
    answer[1] = 128 + opcode
    if (opcode === 0) Buffer.from(router.externalIp.split('.').map(Number)).copy(answer, 8)
    else {
      const refusal = router.refusals.shift()
      const protocol = opcode === 1 ? 'udp' : 'tcp'
      const [inside, wished, lifetimeS] = [request.readUInt16BE(4), request.readUInt16BE(6), request.readUInt32BE(8)]
      const outside = wished === inside ? wished + (options.shift ?? 0) : wished
      if (refusal !== undefined) answer.writeUInt16BE(refusal, 2)
      else if (lifetimeS === 0) {
        for (const name of router.mappings.keys()) {
          if (name.startsWith(protocol) && name.endsWith(`> ${inside}`)) router.mappings.delete(name)
        }
      } else router.mappings.set(`${protocol} ${outside} -> ${inside}`, lifetimeS)
      answer.writeUInt16BE(inside, 8)
      answer.writeUInt16BE(outside, 10)
      answer.writeUInt32BE(lifetimeS, 12)
    }
    socket.send(answer, from.port, from.address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  router.places = { ...NOWHERE, natPmp: { ips: ['127.0.0.1'], port: socket.address().port } }
  router.close = () => new Promise((resolve) => socket.close(() => resolve()))
  return router
}

/** Answers searches, serves its description and maps ports by UPnP. */
export async function startUpnpRouter(
  options: { service?: string; location?: (port: number) => string } = {},
): Promise<TestRouter> {
  const { service = 'WANIPConnection:1', location = (port) => `http://127.0.0.1:${port}/rootDesc.xml` } = options
  const router = newRouter()
  const type = `urn:schemas-upnp-org:service:${service}`
  const server = createServer((request, response) => {
    router.requests += 1
    if (router.isDead) return
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      if (request.url === '/rootDesc.xml') response.end(description(type))
      else if (request.url === '/control?a=1&b=2') {
        const action = String(request.headers.soapaction).replaceAll('"', '').replace(`${type}#`, '')
        answer(action, Buffer.concat(chunks).toString(), response)
      } else response.writeHead(404).end()
    })
  })
  /** The result's elements, or an error code. */
  const perform = (action: string, body: string): string | number => {
    const arg = (name: string): string => new RegExp(`<${name}>([^<]*)</${name}>`).exec(body)?.[1] ?? ''
    const outside = `${arg('NewProtocol').toLowerCase()} ${arg('NewExternalPort')} ->`
    if (action === 'GetExternalIPAddress') return `<NewExternalIPAddress>${router.externalIp}</NewExternalIPAddress>`
    if (action === 'AddPortMapping') {
      const refusal = router.refusals.shift()
      if (refusal !== undefined) return refusal
      if (arg('NewInternalClient') !== '127.0.0.1') return 606
      router.mappings.set(`${outside} ${arg('NewInternalPort')}`, Number(arg('NewLeaseDuration')))
      return ''
    }
    if (action !== 'DeletePortMapping') return 401
    const found = [...router.mappings.keys()].find((name) => name.startsWith(outside))
    return found !== undefined && router.mappings.delete(found) ? '' : 714
  }
  const answer = (action: string, body: string, response: ServerResponse): void => {
    const result = perform(action, body)
    if (typeof result === 'number') fault(response, result)
    else response.end(envelope(`<u:${action}Response xmlns:u="${type}">${result}</u:${action}Response>`))
  }
  const { port, close } = await listen(server)
  const search = createSocket('udp4')
  search.on('message', (text, from) => {
    const target = /^ST: (.*:InternetGatewayDevice:1)\r$/m.exec(text.toString())?.[1]
    if (target === undefined || router.isDead) return
    const lines = ['HTTP/1.1 200 OK', `Location: ${location(port)}`, `ST: ${target}`, 'USN: uuid:1', '', '']
    search.send(lines.join('\r\n'), from.port, from.address)
  })
  search.bind(0, '127.0.0.1')
  await once(search, 'listening')
  router.places = {
    ...NOWHERE,
    ssdp: { to: { ip: '127.0.0.1', port: search.address().port }, from: ['127.0.0.1'] },
  }
  router.close = async () => {
    await Promise.all([close(), new Promise<void>((resolve) => search.close(() => resolve()))])
  }
  return router
}

function description(type: string): string {
  const other =
    '<service><serviceType>urn:schemas-upnp-org:service:Layer3Forwarding:1</serviceType><controlURL>/l3</controlURL></service>'
  const own = `<service><serviceType>${type}</serviceType><controlURL>/control?a=1&amp;b=2</controlURL></service>`
  const inner = `<device><deviceList><device><serviceList>${own}</serviceList></device></deviceList></device>`
  return `<?xml version="1.0"?><root><device><serviceList>${other}</serviceList><deviceList>${inner}</deviceList></device></root>`
}

function envelope(body: string): string {
  return `<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${body}</s:Body></s:Envelope>`
}

function fault(response: ServerResponse, code: number): void {
  const error = `<UPnPError xmlns="urn:schemas-upnp-org:control-1-0"><errorCode>${code}</errorCode><errorDescription>said ${code}</errorDescription></UPnPError>`
  response.writeHead(500).end(envelope(`<s:Fault><faultcode>s:Client</faultcode><detail>${error}</detail></s:Fault>`))
}
