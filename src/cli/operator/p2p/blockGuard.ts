import { isIP } from 'node:net'
import { z } from 'zod'
import { UsageError } from '../../../lib/errors.ts'
import { formatIp, parseCidr, parseIp, type Subnet, subnetContains } from '../../../lib/ipNet.ts'
import { countOf } from '../../../lib/phrases.ts'
import type { NodeClient } from '../../../rpc/client/index.ts'
import { scoreSchema } from './peerSchemas.ts'

/** A shorter prefix covers more than any one organisation has (10.0.0.0/8 is the largest private range). */
const WIDE = { ipv4: 8, ipv6: 16 }

const selfSchema = z.object({ addresses: z.array(z.string()) })

/**
 * The confirmation that blocking this IP address or subnet needs; undefined: it needs none. Throws UsageError for an address
 * that belongs to this node only. The node itself refuses a text that is not an address.
 */
export async function questionBeforeBlock(node: NodeClient, subject: string): Promise<string | undefined> {
  const subnet = subnetOf(subject)
  if (subnet === undefined) return undefined
  const isInside = (ip: string): boolean => isIP(ip) !== 0 && subnetContains(subnet, parseIp(ip))
  const [peers, self] = await Promise.all([
    node.request('deviump2p_peerScore', []).then((answer) => scoreSchema.array().parse(answer)),
    node.request('deviump2p_self', []).then((answer) => selfSchema.parse(answer)),
  ])
  const ended = peers.filter(({ ipColocation }) => ipColocation.parts.some(({ ip }) => isInside(ip)))
  const guarded = ended.filter((peer) => peer.static || peer.protected)
  const isOwn = self.addresses.some((address) => isInside(/^\/ip[46]\/([^/]+)/.exec(address)?.[1] ?? ''))
  const isAddress = subnet.prefixBits === subnet.address.length * 8
  if (isAddress && isOwn && ended.length === 0) {
    throw new UsageError(`${subject} is an address of this node, so no peer connects from it`)
  }
  const [family, wide] = subnet.address.length === 4 ? ['IPv4', WIDE.ipv4] : ['IPv6', WIDE.ipv6]
  const reasons = [
    ...(subnet.prefixBits === 0 ? [`${subject} covers all ${family} addresses.`] : []),
    ...(subnet.prefixBits > 0 && subnet.prefixBits < wide ? [`${subject} is wider than a /${wide}.`] : []),
    ...(isAddress && isOwn ? [`${subject} is also an address of this node.`] : []),
  ]
  if (reasons.length === 0 && guarded.length === 0) return undefined
  const among = guarded.length === 0 ? '' : `, ${guarded.length} of them static or protected`
  return [
    ...reasons,
    `Blocking it disconnects ${ended.length} of ${countOf(peers.length, 'connected peer')}${among}.`,
  ].join(' ')
}

/** A single address is the smallest subnet. */
function subnetOf(subject: string): Subnet | undefined {
  try {
    if (subject.includes('/')) return parseCidr(subject)
    const address = parseIp(subject)
    return parseCidr(`${formatIp(address)}/${address.length * 8}`)
  } catch {
    return undefined
  }
}
