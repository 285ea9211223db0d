import { describe, expect, it } from 'vitest'
import { type NameResolver, resolveAddresses } from './resolve.ts'

const ID = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2UNrn5YYc'
const OTHER = '16Uiu2HAmAXL5aMVHonM814nF5n9tHR6ExFkVN2vK5yGHtfkLvf1E'

function resolver(records: Record<string, string[]>): NameResolver & { queried: string[] } {
  const queried: string[] = []
  const answer = async (name: string): Promise<string[]> => {
    queried.push(name)
    const found = records[name]
    if (found === undefined) throw Object.assign(new Error(`ENOTFOUND ${name}`), { code: 'ENOTFOUND' })
    return found
  }
  return { queried, addresses: answer, texts: answer }
}

const dnsaddr = { host: { kind: 'dnsaddr', name: 'a.example' } as const, tcpPort: undefined }

describe('resolveAddresses', () => {
  it('returns each address of a name once', async () => {
    const names = resolver({ 'a.example': ['1.2.3.4', '::1', '1.2.3.4'] })
    const target = { host: { kind: 'dns', name: 'a.example', family: 0 } as const, tcpPort: 7, peerId: ID }
    expect(await resolveAddresses(names, target)).toEqual([
      { ip: '1.2.3.4', tcpPort: 7 },
      { ip: '::1', tcpPort: 7 },
    ])
    await expect(resolveAddresses(resolver({}), target)).rejects.toMatchObject({ code: 'ENOTFOUND' })
  })

  it('resolves an IP without a query', async () => {
    const names = resolver({})
    const host = { kind: 'ip', ip: '1.2.3.4' } as const
    expect(await resolveAddresses(names, { host, tcpPort: undefined, peerId: ID })).toEqual([
      { ip: '1.2.3.4', tcpPort: undefined },
    ])
    expect(names.queried).toEqual([])
  })

  it('follows dnsaddr, and omits other peers and other transports', async () => {
    const names = resolver({
      '_dnsaddr.a.example': [
        'v=spf1 -all',
        'dnsaddr=nonsense',
        `dnsaddr=/ip4/1.2.3.4/tcp/9222/p2p/${ID}`,
        `dnsaddr=/ip4/1.2.3.5/tcp/9222/p2p/${OTHER}`,
        `dnsaddr=/ip4/1.2.3.6/udp/9222/quic-v1/p2p/${ID}`,
        `dnsaddr=/ip4/1.2.3.7/tcp/9222/ws/p2p/${ID}`,
        `dnsaddr=/dnsaddr/b.example/p2p/${ID}`,
        `dnsaddr=/dnsaddr/gone.example/p2p/${ID}`,
      ],
      '_dnsaddr.b.example': [`dnsaddr=/ip6/::1/tcp/9223/p2p/${ID}`],
    })
    expect(await resolveAddresses(names, { ...dnsaddr, peerId: ID })).toEqual([
      { ip: '1.2.3.4', tcpPort: 9222 },
      { ip: '::1', tcpPort: 9223 },
    ])
  })

  it('stops at a loop of dnsaddr records', async () => {
    const names = resolver({ '_dnsaddr.a.example': ['dnsaddr=/dnsaddr/a.example'] })
    expect(await resolveAddresses(names, { ...dnsaddr, peerId: undefined })).toEqual([])
    expect(names.queried).toHaveLength(3)
  })
})
