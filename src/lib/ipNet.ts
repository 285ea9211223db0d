import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { DecodeError } from './errors.ts'

/** Go's default JSON for `net.IPNet`, which op-node uses for subnets. The mask is base64 of 4 or 16 bytes. */
export interface IpNet {
  IP: string
  Mask: string
}

/** IPv4 as 4 bytes, IPv6 as 16 bytes. An IPv4-mapped IPv6 address becomes its IPv4 address. Throws DecodeError. */
export function parseIp(text: string): Uint8Array {
  // The library would also accept 0x7f.1 and 127.1.
  if (isIP(text) === 0 || text.includes('%')) throw new DecodeError(`invalid IP address: ${text}`)
  return Uint8Array.from(ipaddr.process(text).toByteArray())
}

/** Canonical text: dotted IPv4, or IPv6 compressed and in lower case (RFC 5952). */
export function formatIp(bytes: Uint8Array): string {
  const address = ipaddr.fromByteArray([...bytes])
  return address instanceof ipaddr.IPv6 ? address.toRFC5952String() : address.toString()
}

export function normalizeIp(text: string): string {
  return formatIp(parseIp(text))
}

export interface Subnet {
  address: Uint8Array
  prefixBits: number
}

/** Parses CIDR text and clears the host bits. Throws DecodeError. */
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

/** Throws DecodeError if a member is missing, or if the mask is not ones followed by zeros. */
export function ipNetToCidr(ipNet: { IP?: unknown; Mask?: unknown }): string {
  if (typeof ipNet.IP !== 'string' || typeof ipNet.Mask !== 'string') throw new DecodeError('invalid request')
  let address = parseIp(ipNet.IP)
  let mask = new Uint8Array(Buffer.from(ipNet.Mask, 'base64'))
  // Go accepts a 16-byte mask for an IPv4 address, and the reverse, if the leading part is all ones.
  if (address.length === 4 && mask.length === 16) mask = mask.slice(12)
  if (mask.length !== address.length) throw new DecodeError(`invalid IP mask: ${ipNet.Mask}`)
  const prefixBits = ipaddr.fromByteArray([...mask]).prefixLengthFromSubnetMask()
  if (prefixBits === null) throw new DecodeError(`invalid IP mask: ${ipNet.Mask}`)
  address = maskBytes(address, prefixBits)
  return formatCidr({ address, prefixBits })
}

function maskBytes(bytes: Uint8Array, prefixBits: number): Uint8Array {
  return bytes.map((byte, index) => {
    const kept = Math.max(0, Math.min(8, prefixBits - index * 8))
    return byte & (0xff << (8 - kept)) & 0xff
  })
}
