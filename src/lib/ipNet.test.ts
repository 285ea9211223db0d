import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from './errors.ts'
import {
  cidrToIpNet,
  formatIp,
  ipNetToCidr,
  normalizeCidr,
  normalizeIp,
  parseCidr,
  parseIp,
  subnetContains,
} from './ipNet.ts'

describe('IP addresses', () => {
  it.each([
    ['10.1.2.3', '10.1.2.3'],
    ['::1', '::1'],
    ['FD00:0:0::0001', 'fd00::1'],
    ['2001:db8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
    ['::ffff:10.1.2.3', '10.1.2.3'],
    ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ])('%s is %s', (text, canonical) => {
    expect(normalizeIp(text)).toBe(canonical)
  })
  it.each(['zz', '', '1.2.3', '1.2.3.4.5', 'fe80::1%eth0', '10.0.0.0/8'])('%j is refused', (text) => {
    expect(() => parseIp(text)).toThrow(DecodeError)
  })
  it('survive formatting and parsing', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const mapped = bytes.subarray(0, 10).every((b) => b === 0) && bytes[10] === 0xff && bytes[11] === 0xff
        expect(parseIp(formatIp(bytes))).toEqual(mapped ? bytes.slice(12) : bytes)
      }),
    )
  })
  it('throw only DecodeError', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          parseIp(text)
          parseCidr(text)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
    )
  })
})

describe('subnets', () => {
  it.each([
    ['10.1.2.3/8', '10.0.0.0/8'],
    ['fd00::1/8', 'fd00::/8'],
    ['::ffff:10.1.0.0/104', '10.0.0.0/8'],
    ['0.0.0.0/0', '0.0.0.0/0'],
  ])('%s is %s', (text, canonical) => {
    expect(normalizeCidr(text)).toBe(canonical)
  })
  it.each(['10.0.0.0', '10.0.0.0/33', '::/129', '10.0.0.0/-1', '/8', '10.0.0.0/x', '::ffff:10.0.0.0/8'])(
    '%j is refused',
    (text) => {
      expect(() => parseCidr(text)).toThrow(DecodeError)
    },
  )
  it('contain their addresses and no others', () => {
    const net = parseCidr('192.168.128.0/17')
    expect(subnetContains(net, parseIp('192.168.255.255'))).toBe(true)
    expect(subnetContains(net, parseIp('192.168.127.255'))).toBe(false)
    expect(subnetContains(net, parseIp('::1'))).toBe(false)
    expect(subnetContains(parseCidr('0.0.0.0/0'), parseIp('8.8.8.8'))).toBe(true)
  })
})

describe("op-node's IPNet", () => {
  it.each([
    ['10.1.0.0/16', { IP: '10.1.0.0', Mask: '//8AAA==' }],
    ['fd00::/8', { IP: 'fd00::', Mask: '/wAAAAAAAAAAAAAAAAAAAA==' }],
  ])('%s both ways', (cidr, ipNet) => {
    expect(cidrToIpNet(cidr)).toEqual(ipNet)
    expect(ipNetToCidr(ipNet)).toBe(cidr)
  })
  it.each([
    {},
    { IP: '10.0.0.0' },
    { IP: '10.0.0.0', Mask: 'AP8AAA==' },
    { IP: '10.0.0.0', Mask: '//8=' },
    { IP: 5, Mask: '//8AAA==' },
  ])('%j is refused', (ipNet) => {
    expect(() => ipNetToCidr(ipNet)).toThrow(DecodeError)
  })
})
