import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import { Agent, request } from 'undici'
import { describeError } from '../../lib/errors.ts'
import { type Mapping, type MappingRequest, type NatRouter, NatRouterError } from './natRouter.ts'

/** Services that map ports, best first (UPnP WANIPConnection 1 and 2, WANPPPConnection 1). */
const SERVICES = ['WANIPConnection:2', 'WANIPConnection:1', 'WANPPPConnection:1'].map(
  (name) => `urn:schemas-upnp-org:service:${name}`,
)
/** Routers are small devices, so a larger description is not valid. The expressions below take quadratic time. */
const MAX_ANSWER_BYTES = 32 * 1024
const DESCRIPTION = 'devium'
/** Error codes of WANIPConnection's AddPortMapping. */
const ERROR_CONFLICT = 718
const ERROR_PERMANENT_ONLY = 725
/** Attempts with another port, if another machine has the preferred one. */
const OTHER_PORTS = 3

/** Reads the router's description. Rejects with NatRouterError when the router maps no ports. */
export async function openUpnpRouter(description: URL, signal: AbortSignal): Promise<NatRouter> {
  const agent = new Agent({ maxResponseSize: MAX_ANSWER_BYTES, keepAliveTimeout: 1_000, connections: 1 })
  const name = `UPnP ${description.hostname}`

  const fetchText = async (url: URL, init: { body?: string; action?: string }, until: AbortSignal) => {
    try {
      const { statusCode, body } = await request(url, {
        dispatcher: agent,
        signal: until,
        ...(init.body === undefined
          ? { method: 'GET' }
          : {
              method: 'POST',
              body: init.body,
              headers: { 'content-type': 'text/xml; charset="utf-8"', soapaction: `"${init.action}"` },
            }),
      })
      return { statusCode, text: await body.text() }
    } catch (cause) {
      throw new NatRouterError('no-answer', `no answer from ${name}: ${describeError(cause)}`, { cause })
    }
  }
  const service = serviceOf((await fetchText(description, {}, signal)).text, description)
  if (service === undefined) throw new NatRouterError('bad-answer', `${name} does not map ports`)

  const call = async (action: string, args: Record<string, string | number>, until: AbortSignal): Promise<string> => {
    const members = Object.entries(args).map(([key, value]) => `<${key}>${value}</${key}>`)
    const body =
      '<?xml version="1.0"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" ' +
      's:encodingStyle="http://schemas.xmlsoap.org/soap/encoding/"><s:Body>' +
      `<u:${action} xmlns:u="${service.type}">${members.join('')}</u:${action}></s:Body></s:Envelope>`
    const answer = await fetchText(service.control, { body, action: `${service.type}#${action}` }, until)
    if (answer.statusCode === 200) return answer.text
    const code = Number(elementOf(answer.text, 'errorCode') ?? Number.NaN)
    const said = elementOf(answer.text, 'errorDescription') ?? `HTTP ${answer.statusCode}`
    throw new NatRouterError('refused', `${name} refuses ${action}: ${said.slice(0, 100)}`, { details: { code } })
  }
  const addMapping = async (wanted: MappingRequest, internalIp: string, until: AbortSignal): Promise<Mapping> => {
    const { protocol, internalPort, externalPort, lifetimeS } = wanted
    await call(
      'AddPortMapping',
      {
        NewRemoteHost: '',
        NewExternalPort: externalPort,
        NewProtocol: protocol.toUpperCase(),
        NewInternalPort: internalPort,
        NewInternalClient: internalIp,
        NewEnabled: 1,
        NewPortMappingDescription: DESCRIPTION,
        NewLeaseDuration: lifetimeS,
      },
      until,
    )
    return { externalPort, lifetimeS }
  }
  return {
    name,
    async externalIp(until) {
      const ip = elementOf(await call('GetExternalIPAddress', {}, until), 'NewExternalIPAddress')?.trim() ?? ''
      if (!isIPv4(ip)) throw new NatRouterError('bad-answer', `${name} does not know its address`)
      return ip
    },
    async map(wanted, until) {
      const internalIp = await addressTowards(description.hostname)
      let current = wanted
      for (let left = OTHER_PORTS; ; ) {
        try {
          return await addMapping(current, internalIp, until)
        } catch (error) {
          const code = error instanceof NatRouterError ? error.details.code : undefined
          if (code === ERROR_PERMANENT_ONLY && current.lifetimeS !== 0) current = { ...current, lifetimeS: 0 }
          else if (code === ERROR_CONFLICT && left > 0) {
            left -= 1
            current = { ...current, externalPort: randomInt(20_000, 60_000) }
          } else throw error
        }
      }
    },
    async unmap({ protocol, externalPort }, until) {
      const args = { NewRemoteHost: '', NewExternalPort: externalPort, NewProtocol: protocol.toUpperCase() }
      await call('DeletePortMapping', args, until)
    },
  }
}

/** The first service of the best type. Its URL must be on the router that sent the description. */
function serviceOf(xml: string, base: URL): { type: string; control: URL } | undefined {
  const services = [...xml.matchAll(/<service>(.*?)<\/service>/gs)].map(([, inner = '']) => ({
    type: elementOf(inner, 'serviceType')?.trim() ?? '',
    control: URL.parse(elementOf(inner, 'controlURL')?.trim() ?? '', base.href),
  }))
  for (const type of SERVICES) {
    const control = services.find((service) => service.type === type)?.control
    if (control?.protocol === 'http:' && control.hostname === base.hostname) return { type, control }
  }
  return undefined
}

function elementOf(xml: string, name: string): string | undefined {
  const content = new RegExp(`<(?:\\w+:)?${name}(?:\\s[^>]*)?>([^<]*)<`).exec(xml)?.[1]
  return content?.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

/** This machine's address in the router's network. */
async function addressTowards(ip: string): Promise<string> {
  const socket = createSocket('udp4')
  try {
    // Sends nothing. It only makes the system choose the route.
    socket.connect(1, ip)
    await once(socket, 'connect')
    return socket.address().address
  } finally {
    socket.close()
  }
}
