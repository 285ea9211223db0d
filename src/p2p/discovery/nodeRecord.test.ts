import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
import { parseRecord } from './discv5.ts'
import { type NodeRecord, readEntries } from './nodeRecord.ts'
import { refusalOf } from './recordFilter.ts'

/** op-node's own record on chain 901, from its opp2p_self. The node id is the one in the same output. */
const OP_NODE_ENR =
  'enr:-J24QHBZMygxlgIDtUNGVX0dyRrs-1Rm_-CVrzalz_Slaid2Gzy-WMaA17s6zKZ0RFzMU9VKHN21kRyq0K4lm2AMS76GAaH7zViVgmlkgnY0gmlwhH8AAAGHb3BzdGFja4OFBwCJc2VjcDI1NmsxoQPHu_5DaL14a1Hi_t88annNedBDDFiS3j7RzhWGqqo8hYN0Y3CCTiWDdWRwgk4l'
const OP_NODE_ID = '823807f4e65d364114380e2848dba80212316f54feb4f0506deb78a1d779a039'

describe('parseRecord', () => {
  it('reads the record of an op-node', () => {
    expect(parseRecord(OP_NODE_ENR)).toMatchObject({
      nodeId: OP_NODE_ID,
      ip: '127.0.0.1',
      tcpPort: 20005,
      udpPort: 20005,
      opstack: { chainId: 901n, version: 0n },
    })
  })

  it('refuses a record with any character changed', () => {
    fc.assert(
      fc.property(fc.integer({ min: 4, max: OP_NODE_ENR.length - 1 }), fc.constantFrom('A', 'w', '7'), (at, char) => {
        const changed = OP_NODE_ENR.slice(0, at) + char + OP_NODE_ENR.slice(at + 1)
        // The last base64 character has unused bits.
        if (changed === OP_NODE_ENR || at === OP_NODE_ENR.length - 1) return
        expect(() => parseRecord(changed)).toThrow(DecodeError)
      }),
    )
  })

  it('throws only DecodeErrors on arbitrary text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(() => parseRecord(`enr:${Buffer.from(bytes).toString('base64url')}`)).toThrow(DecodeError)
      }),
    )
  })
})

describe('readEntries', () => {
  const port = (number: number) => Uint8Array.of(number >> 8, number & 0xff)
  const ports4 = { tcp: port(1001), udp: port(1002) }
  const place4 = { ip: Uint8Array.of(10, 0, 0, 1), ...ports4 }
  const ip6 = Uint8Array.from([0x20, 0x01, 0x0d, 0xb8, ...new Uint8Array(11), 1])
  const ports6 = { tcp6: port(1003), udp6: port(1004) }
  const read4 = { ip: '10.0.0.1', tcpPort: 1001, udpPort: 1002 }

  it.each<[string, Record<string, Uint8Array>, object]>([
    ['IPv4 and IPv6, with ports for one', { ...place4, ip6 }, { ...read4, alsoAt: { ...read4, ip: '2001:db8::1' } }],
    [
      'IPv4 and IPv6, each with its ports',
      { ...place4, ...ports6, ip6 },
      { ...read4, alsoAt: { ip: '2001:db8::1', tcpPort: 1003, udpPort: 1004 } },
    ],
    ['IPv6, with plain ports', { ip6, ...ports4 }, { ip: '2001:db8::1', tcpPort: 1001, alsoAt: undefined }],
    ['IPv6, with its ports', { ip6, ...ports4, ...ports6 }, { ip: '2001:db8::1', tcpPort: 1003, alsoAt: undefined }],
    ['only ports', ports6, { ip: undefined, alsoAt: undefined }],
  ])('reads the addresses of a record with %s', (_what, entries, expected) => {
    expect(readEntries(new Map(Object.entries(entries)))).toMatchObject(expected)
  })

  it('never throws on arbitrary entries', () => {
    const keys = fc.constantFrom('ip', 'ip6', 'tcp', 'udp', 'tcp6', 'udp6', 'opstack')
    fc.assert(
      fc.property(fc.array(fc.tuple(keys, fc.uint8Array({ maxLength: 20 }))), (entries) => {
        const { tcpPort = 1, udpPort = 1 } = readEntries(new Map(entries))
        expect(tcpPort > 0 && tcpPort < 65_536 && udpPort > 0 && udpPort < 65_536).toBe(true)
      }),
    )
  })
})

describe('refusalOf', () => {
  const record: NodeRecord = parseRecord(OP_NODE_ENR)
  const options = { chainId: 901n, netrestrict: [] }
  const refusal = (changes: Partial<NodeRecord>, ownIp?: string): string | undefined =>
    refusalOf({ ...record, ...changes }, options, ownIp)

  it('accepts nodes of our chain with an address', () => {
    expect(refusal({})).toBeUndefined()
    expect(refusal({ ip: '2001:db8::1' })).toBeUndefined()
  })

  it.each<[string, Partial<NodeRecord>]>([
    ['no-opstack-entry', { opstack: undefined }],
    ['other-chain', { opstack: { chainId: 10n, version: 0n } }],
    ['other-version', { opstack: { chainId: 901n, version: 1n } }],
    ['no-address', { ip: undefined }],
    ['no-address', { tcpPort: undefined }],
    ['bad-address', { ip: '0.0.0.0' }],
    ['bad-address', { ip: '224.0.0.1' }],
    ['bad-address', { ip: '255.255.255.255' }],
    ['bad-address', { ip: '::' }],
    ['bad-address', { ip: 'ff02::1' }],
  ])('returns %s', (reason, changes) => {
    expect(refusal(changes)).toBe(reason)
  })

  it('accepts local addresses while our own address is local or unknown', () => {
    const ip4 = ['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.0.1', '192.168.0.9', '169.254.1.1']
    for (const ip of [...ip4, '::1', 'fc00::1', 'fd00::1', 'fe80::1', 'febf::1']) {
      expect(refusal({ ip }, undefined)).toBeUndefined()
      expect(refusal({ ip }, '192.168.0.1')).toBeUndefined()
      expect(refusal({ ip }, '203.0.113.1')).toBe('bad-address')
    }
    const others = ['172.15.0.1', '172.32.0.1', '192.169.0.1', '193.168.0.1', '169.253.0.1', '170.254.0.1', '11.0.0.1']
    for (const ip of [...others, '2001:db8::1', '::2', 'fec0::1', 'fe00::1', 'ff::1', '180::1']) {
      expect(refusal({ ip }, '203.0.113.1')).toBeUndefined()
    }
  })
})
