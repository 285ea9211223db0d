import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { DecodeError, describeError, UsageError } from '../../lib/errors.ts'
import { fromHex } from '../../lib/hex.ts'
import { compressPublicKey } from '../../lib/secp256k1.ts'
import type { NodeRecord } from './nodeRecord.ts'

export type Bootnode =
  | { kind: 'enr'; text: string }
  /** A node without a signed record: only the key and the UDP address. The host is an IP or a DNS name. */
  | { kind: 'enode'; text: string; publicKey: Uint8Array; host: string; udpPort: number }

/** The address for requests of a bootnode's record. */
export interface Endpoint {
  publicKey: Uint8Array
  ip: string
  udpPort: number
}

type Place = Pick<NodeRecord, 'ip' | 'udpPort' | 'tcpPort'>

/**
 * Throws UsageError naming the first record that is unreadable (op-node's words) or that has no address. Blank entries
 * are skipped.
 */
export function parseBootnodes(texts: readonly string[], readEnr: (text: string) => Place): Bootnode[] {
  const given = texts.map((text) => text.trim())
  return given.flatMap((text, i): Bootnode[] => {
    if (text === '') return []
    try {
      if (text.startsWith('enode://')) return [parseEnode(text)]
      if (!text.startsWith('enr:')) throw new DecodeError('expected enr: or enode://')
      checkPlace(readEnr(text))
      return [{ kind: 'enr', text }]
    } catch (cause) {
      throw new UsageError(
        `--p2p.bootnodes: bootnode record ${i + 1} (of ${given.length}) is invalid: ${describeError(cause)} (${shorten(text)})`,
        { cause },
      )
    }
  })
}

/** A record without UDP port is accepted, because the node can still be dialled as a peer. */
function checkPlace({ ip, udpPort, tcpPort }: Place): void {
  const hasPort = udpPort !== undefined || tcpPort !== undefined
  const missing = [...(ip === undefined ? ['IP address'] : []), ...(hasPort ? [] : ['port'])]
  if (missing.length > 0) throw new DecodeError(`it has no ${missing.join(' and no ')}, so it cannot be contacted`)
}

/**
 * `enode://<64-byte key in hex>@<host>:<TCP port>[?discport=<UDP port>]`. Without `discport` the UDP port equals the
 * TCP port. TCP port 0 means that the node serves discovery only. Throws DecodeError.
 */
export function parseEnode(text: string): Bootnode & { kind: 'enode' } {
  const match = /^enode:\/\/([0-9a-fA-F]+)@(\[[^\]]+\]|[^:/?#@[\]]+):(\d{1,5})(?:\?discport=(\d{1,5}))?$/.exec(text)
  if (match === null) throw new DecodeError('not of the form enode://<key>@<host>:<port>[?discport=<port>]')
  const [, key = '', host = '', tcp = '', discport = tcp] = match
  if (key.length !== 128) throw new DecodeError(`invalid public key: ${key.length} hex digits, expected 128`)
  const udpPort = Number(discport)
  if (udpPort === 0 || udpPort > 65_535 || Number(tcp) > 65_535) throw new DecodeError('invalid port')
  return {
    kind: 'enode',
    text,
    publicKey: compressed(fromHex(key)),
    host: host.startsWith('[') ? host.slice(1, -1) : host,
    udpPort,
  }
}

/** The first resolved address of an IP family that the socket has. Rejects when there is none. */
export async function resolveEnode(
  bootnode: Bootnode & { kind: 'enode' },
  reach: { hasIp4: boolean; hasIp6: boolean },
  resolve: (name: string) => Promise<{ address: string; family: number }[]> = (name) => lookup(name, { all: true }),
): Promise<Endpoint> {
  const { publicKey, host, udpPort } = bootnode
  if (isIP(host) !== 0) return { publicKey, ip: host, udpPort }
  const found = await resolve(host)
  const ip = found.find(({ family }) => (family === 6 ? reach.hasIp6 : reach.hasIp4))?.address
  if (ip === undefined) {
    const addresses = found.map(({ address }) => address).join(', ')
    throw new DecodeError(`no address of an IP family that this node listens on: ${addresses}`)
  }
  return { publicKey, ip, udpPort }
}

/** Throws DecodeError when the bytes are not a public key. */
function compressed(key64: Uint8Array): Uint8Array {
  try {
    return compressPublicKey(Uint8Array.of(4, ...key64))
  } catch (cause) {
    throw new DecodeError('invalid public key: not a point on the curve', { cause })
  }
}

function shorten(text: string): string {
  return text.length <= 60 ? text : `${text.slice(0, 40)}…${text.slice(-16)}`
}
