import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseRecord } from '../../../../p2p/discovery/discv5.ts'
import { parseTarget } from './target.ts'

const ID = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'
/** op-node's own record on chain 901, and the same key as an enode. */
const ENR =
  'enr:-J24QHBZMygxlgIDtUNGVX0dyRrs-1Rm_-CVrzalz_Slaid2Gzy-WMaA17s6zKZ0RFzMU9VKHN21kRyq0K4lm2AMS76GAaH7zViVgmlkgnY0gmlwhH8AAAGHb3BzdGFja4OFBwCJc2VjcDI1NmsxoQPHu_5DaL14a1Hi_t88annNedBDDFiS3j7RzhWGqqo8hYN0Y3CCTiWDdWRwgk4l'
const ENR_PEER = '16Uiu2HAmS6fk9D3hbmW9QwfyWTiMFuRWB1h8dddBD8thZD9tGoGY'
const KEY =
  'ca634cae0d49acb401d8a4c6b6fe8c55b70d115bf400769cc1400f3258cd31387574077f301b421bc84df7266c44e9e6d569fc56be00812904767bf5ccd1fc7f'

const parse = (text: string) => parseTarget(text, parseRecord)

describe('parseTarget', () => {
  it.each([
    [`/ip4/1.2.3.4/tcp/9222/p2p/${ID}`, { kind: 'ip', ip: '1.2.3.4' }, 9222, ID],
    [`/ip6/2001:db8::1/tcp/9222/p2p/${ID}`, { kind: 'ip', ip: '2001:db8::1' }, 9222, ID],
    ['/dns4/a.example/tcp/1', { kind: 'dns', name: 'a.example', family: 4 }, 1, undefined],
    ['/dns6/a.example/tcp/1', { kind: 'dns', name: 'a.example', family: 6 }, 1, undefined],
    ['/dns/a.example/tcp/1', { kind: 'dns', name: 'a.example', family: 0 }, 1, undefined],
    [`/dnsaddr/a.example/p2p/${ID}`, { kind: 'dnsaddr', name: 'a.example' }, undefined, ID],
    ['  /ip4/1.2.3.4/tcp/1\n', { kind: 'ip', ip: '1.2.3.4' }, 1, undefined],
  ])('reads %s', (text, host, tcpPort, peerId) => {
    expect(parse(text)).toMatchObject({ kind: 'multiaddress', host, tcpPort, peerId, discovery: undefined })
  })

  it('reads records and their peer ids', () => {
    expect(parse(ENR)).toMatchObject({
      kind: 'enr',
      peerId: ENR_PEER,
      host: { kind: 'ip', ip: '127.0.0.1' },
      tcpPort: 20005,
      discovery: { udpPort: 20005 },
    })
    expect(parse(`enode://${KEY}@boot.example:30303?discport=30301`)).toMatchObject({
      kind: 'enode',
      host: { kind: 'dns', name: 'boot.example' },
      tcpPort: 30303,
      discovery: { udpPort: 30301 },
    })
    expect(parse(`enode://${KEY}@1.2.3.4:0?discport=30301`)).toMatchObject({
      tcpPort: undefined,
      discovery: { udpPort: 30301 },
    })
  })

  it.each([
    ['', 'address', /empty/, /expected/],
    ['1.2.3.4:9222', 'address', /neither/, /mean \/ip4\/1\.2\.3\.4\/tcp\/9222\/p2p\//],
    ['http://node.example:9222/', 'address', /neither/, /mean \/dns4\/node\.example\/tcp\/9222/],
    ['[2001:db8::1]:9222', 'address', /neither/, /mean \/ip6\/2001:db8::1\/tcp\/9222/],
    [ID, 'address', /neither/, /a peer id alone works only/],
    [`/p2p/${ID}`, 'address', /without an address/, /opp2p_self/],
    ['/ip4/node.example/tcp/1', 'address', /Invalid IPv4/, /\/dns4\/node\.example/],
    ['/ip4/::1/tcp/1', 'address', /multiaddress/, /\/ip6\/::1/],
    ['/ip6/1.2.3.4/tcp/1', 'address', /multiaddress/, /\/ip4\/1\.2\.3\.4/],
    ['/ip4/1.2.3.4', 'address', /no \/tcp/, /TCP only/],
    ['/ip4/1.2.3.4/udp/1/quic-v1', 'address', /no \/tcp/, /TCP only/],
    ['/ip4/1.2.3.4/tcp/1/ws', 'address', /\/ws after the port/, /TCP only/],
    ['/ip4/1.2.3.4/tcp/0', 'address', /port 0/, /9222/],
    ['/ip4/1.2.3.4/tcp/9222/p2p/nonsense', 'address', /./, /expected/],
    [`/unix/tmp/p2p/${ID}`, 'address', /not an address|multiaddress/, /expected/],
    [`${ENR.slice(0, 60)}A${ENR.slice(61)}`, 'record', /invalid ENR/, /signature/],
    ['enr:', 'record', /invalid ENR/, /signature/],
    ['enode://12@1.2.3.4:5', 'record', /2 hex digits/, /128 hex digits/],
    [`enode://${'f'.repeat(128)}@1.2.3.4:5`, 'record', /./, /expected enode/],
  ])('explains what is invalid in "%s"', (text, step, what, hint) => {
    expect(parse(text)).toEqual({ step, text: expect.stringMatching(what), hint: expect.stringMatching(hint) })
  })

  it('never throws', () => {
    const words = ['/ip4/', '/tcp/', '/p2p/', '/dns4/', 'enode://', 'enr:', '1.2.3.4', '9222', ID, KEY, '@', ':']
    const word = fc.constantFrom(...words)
    fc.assert(
      fc.property(fc.array(fc.oneof(word, fc.string({ maxLength: 12 })), { maxLength: 8 }), (parts) => {
        expect(parse(parts.join(''))).toBeDefined()
      }),
    )
  })
})
