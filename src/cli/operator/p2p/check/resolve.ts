import { lookup, resolveTxt } from 'node:dns/promises'
import { multiaddr } from '@multiformats/multiaddr'
import { ipOf } from '../../../../p2p/host/multiaddrs.ts'
import type { CheckTarget } from './target.ts'

/** The address of a dial. */
export interface Endpoint {
  ip: string
  tcpPort: number
}

/** A record may have no TCP port. */
export interface ResolvedAddress {
  ip: string
  tcpPort: number | undefined
}

/** The used part of the system's resolver. Both functions reject when the name has no such record. */
export interface NameResolver {
  addresses(name: string, family: 0 | 4 | 6): Promise<string[]>
  texts(name: string): Promise<string[]>
}

export const systemResolver: NameResolver = {
  addresses: async (name, family) => (await lookup(name, { all: true, family })).map(({ address }) => address),
  texts: async (name) => (await resolveTxt(name)).map((parts) => parts.join('')),
}

/** Limit of endpoints, because a name may resolve to many machines. */
const MAX_ENDPOINTS = 8
/** Limit of the read addresses of a `/dnsaddr`. Each may be a name again, at most this often. */
const MAX_TEXTS = 64
const MAX_DEPTH = 3

/** Resolves the target's name. For a `/dnsaddr`, addresses of other peers and addresses without TCP are skipped. */
export async function resolveAddresses(
  resolver: NameResolver,
  target: Pick<CheckTarget, 'host' | 'tcpPort' | 'peerId' | 'alsoAt'>,
): Promise<ResolvedAddress[]> {
  const { host, tcpPort, peerId } = target
  if (host === undefined) return []
  if (host.kind === 'dnsaddr') return (await fromTexts(resolver, host.name, peerId, 1)).slice(0, MAX_ENDPOINTS)
  const ips = host.kind === 'ip' ? [host.ip] : await resolver.addresses(host.name, host.family)
  const found = [...new Set(ips)].slice(0, MAX_ENDPOINTS).map((ip) => ({ ip, tcpPort }))
  return target.alsoAt === undefined ? found : [...found, target.alsoAt]
}

/** libp2p's addressing specification: `dnsaddr=<multiaddress>` in each TXT record. */
async function fromTexts(
  resolver: NameResolver,
  name: string,
  peerId: string | undefined,
  depth: number,
): Promise<Endpoint[]> {
  const texts = await resolver.texts(`_dnsaddr.${name}`)
  const found: Endpoint[] = []
  for (const text of texts.slice(0, MAX_TEXTS)) {
    if (found.length >= MAX_ENDPOINTS) break
    if (text.startsWith('dnsaddr=')) found.push(...(await fromText(resolver, text.slice(8), peerId, depth)))
  }
  return found
}

async function fromText(
  resolver: NameResolver,
  text: string,
  peerId: string | undefined,
  depth: number,
): Promise<Endpoint[]> {
  try {
    const address = multiaddr(text)
    const parts = address.getComponents()
    const value = (wanted: string) => parts.find(({ name }) => name === wanted)?.value
    const id = value('p2p')
    if (peerId !== undefined && id !== undefined && id !== peerId) return []
    const next = value('dnsaddr')
    if (next !== undefined) return depth < MAX_DEPTH ? await fromTexts(resolver, next, peerId, depth + 1) : []
    const ip = ipOf(address)
    const tcpPort = Number(value('tcp'))
    const isPlain = parts.every(({ name }) => ['ip4', 'ip6', 'tcp', 'p2p'].includes(name))
    return isPlain && ip !== undefined && tcpPort > 0 ? [{ ip, tcpPort }] : []
  } catch {
    // An invalid address is skipped, because another record may be valid.
    return []
  }
}
