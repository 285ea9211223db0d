import { isIP } from 'node:net'
import { DecodeError } from './errors.ts'

/** Go's default JSON of `net.IPNet`, op-node's form of a subnet: the mask is base64 of 4 or 16 bytes. */
export interface IpNet {
  IP: string
  Mask: string
}

/** IPv4 as 4 bytes, IPv6 as 16; an IPv4-mapped IPv6 address is its IPv4 address. Throws DecodeError. */
export function parseIp(text: string): Uint8Array {
  const family = isIP(text)
  if (family === 4) return Uint8Array.from(text.split('.'), Number)
  if (family === 6 && !text.includes('%')) return unmapIpv4(parseIpv6(text))
  throw new DecodeError(`invalid IP address: ${text}`)
}

/** Canonical text: dotted IPv4, or IPv6 compressed and in lower case (RFC 5952). */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  const groups: string[] = []
  for (let i = 0; i < 16; i += 2) groups.push((((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)).toString(16))
  const url = new URL(`http://[${groups.join(':')}]/`)
  return url.hostname.slice(1, -1)
}

export function normalizeIp(text: string): string {
  return formatIp(parseIp(text))
}

/** A network address and the number of leading bits that count. */
export interface Subnet {
  address: Uint8Array
  prefixBits: number
}

/** Parses CIDR text; host bits are cleared. Throws DecodeError. */
export function parseCidr(text: string): Subnet {
  const slash = text.lastIndexOf('/')
  const bitsText = slash < 0 ? '' : text.slice(slash + 1)
  if (!/^\d{1,3}$/.test(bitsText)) throw new DecodeError(`invalid CIDR address: ${text}`)
  let prefixBits = Number(bitsText)
  const ipText = text.slice(0, slash)
  const address = parseIp(ipText)
  // ::ffff:10.0.0.0/104 is 10.0.0.0/8
  if (address.length === 4 && isIP(ipText) === 6) prefixBits -= 96
  if (prefixBits < 0 || prefixBits > address.length * 8) throw new DecodeError(`invalid CIDR address: ${text}`)
  return { address: maskBytes(address, prefixBits), prefixBits }
}

export function formatCidr(subnet: Subnet): string {
  return `${formatIp(subnet.address)}/${subnet.prefixBits}`
}

export function normalizeCidr(text: string): string {
  return formatCidr(parseCidr(text))
}

export function subnetContains(subnet: Subnet, ip: Uint8Array): boolean {
  if (ip.length !== subnet.address.length) return false
  return Buffer.compare(maskBytes(ip, subnet.prefixBits), subnet.address) === 0
}

export function cidrToIpNet(cidr: string): IpNet {
  const { address, prefixBits } = parseCidr(cidr)
  const mask = maskBytes(new Uint8Array(address.length).fill(0xff), prefixBits)
  return { IP: formatIp(address), Mask: Buffer.from(mask).toString('base64') }
}

/** Throws DecodeError on a missing member, or a mask that is not ones followed by zeros. */
export function ipNetToCidr(ipNet: { IP?: unknown; Mask?: unknown }): string {
  if (typeof ipNet.IP !== 'string' || typeof ipNet.Mask !== 'string') throw new DecodeError('invalid request')
  let address = parseIp(ipNet.IP)
  let mask = new Uint8Array(Buffer.from(ipNet.Mask, 'base64'))
  // Go accepts a 16-byte mask for an IPv4 address and the other way round when the leading part is all ones.
  if (address.length === 4 && mask.length === 16) mask = mask.slice(12)
  if (mask.length !== address.length) throw new DecodeError(`invalid IP mask: ${ipNet.Mask}`)
  const bits = [...mask].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  if (!/^1*0*$/.test(bits)) throw new DecodeError(`invalid IP mask: ${ipNet.Mask}`)
  const prefixBits = bits.indexOf('0') < 0 ? bits.length : bits.indexOf('0')
  address = maskBytes(address, prefixBits)
  return formatCidr({ address, prefixBits })
}

function maskBytes(bytes: Uint8Array, prefixBits: number): Uint8Array {
  return bytes.map((byte, index) => {
    const kept = Math.max(0, Math.min(8, prefixBits - index * 8))
    return byte & (0xff << (8 - kept)) & 0xff
  })
}

function unmapIpv4(bytes: Uint8Array): Uint8Array {
  const mapped = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff
  return mapped ? bytes.slice(12) : bytes
}

function parseIpv6(text: string): Uint8Array {
  // A dotted tail stands for two groups.
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text)
  let groupsText = text
  if (tail !== null) {
    const [a = 0, b = 0, c = 0, d = 0] = (tail[2] ?? '').split('.').map(Number)
    groupsText = `${tail[1]}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
  }
  const [head = '', rest] = groupsText.split('::')
  const left = head === '' ? [] : head.split(':')
  const right = rest === undefined || rest === '' ? [] : rest.split(':')
  const zeros = new Array<string>(Math.max(0, 8 - left.length - right.length)).fill('0')
  const out = new Uint8Array(16)
  const view = new DataView(out.buffer)
  for (const [index, group] of [...left, ...zeros, ...right].entries())
    view.setUint16(index * 2, Number.parseInt(group, 16))
  return out
}
