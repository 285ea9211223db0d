import { generateKeyPair } from '@libp2p/crypto/keys'
import type { ConnectionGater } from '@libp2p/interface'
import { peerIdFromPrivateKey } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import type { Libp2p, Libp2pOptions } from 'libp2p'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startBareHost } from '../hostile/bareHost.ts'
import { CLOSED_PORT, startRawServer } from '../testUtils/rawServer.ts'
import { thrownBy } from '../testUtils/throwsOnly.ts'
import { classifyDialFailure, type DialFailure } from './dialFailure.ts'

async function host(options: Partial<Libp2pOptions> = {}): Promise<Libp2p> {
  const started = await startBareHost({ addresses: { listen: ['/ip4/127.0.0.1/tcp/0'] }, ...options })
  onTestFinished(() => started.stop())
  return started
}

const someId = async (): Promise<string> => peerIdFromPrivateKey(await generateKeyPair('secp256k1')).toString()
const addressOf = (of: Libp2p): string => of.getMultiaddrs()[0]?.toString() ?? ''

async function failureOf(addresses: string[], from?: Libp2p): Promise<DialFailure> {
  const dialer = from ?? (await host())
  const places = addresses.map((text) => multiaddr(text))
  return classifyDialFailure(await thrownBy(dialer.dial(places, { signal: AbortSignal.timeout(60_000) })))
}

const gated = (gater: ConnectionGater) => host({ connectionGater: gater })

describe('classifyDialFailure', () => {
  it('classifies a closed port as refused, and names the port', async () => {
    const id = await someId()
    const address = `/ip4/127.0.0.1/tcp/${CLOSED_PORT}/p2p/${id}`
    expect(await failureOf([address])).toEqual({
      reason: 'refused',
      text: `connection refused: the host answers, but nothing listens on that port (127.0.0.1:${CLOSED_PORT})`,
    })
    expect(await failureOf([address, `/ip4/127.0.0.1/tcp/2/p2p/${id}`])).toEqual({
      reason: 'refused',
      text: 'connection refused: the host answers, but nothing listens on that port (2 addresses)',
    })
  })

  it('classifies refusals of our own gater, and a dial to ourselves', async () => {
    const other = await host()
    const address = addressOf(other)
    for (const rule of ['denyDialPeer', 'denyDialMultiaddr', 'denyOutboundEncryptedConnection'] as const) {
      const dialer = await gated({ [rule]: () => true })
      expect((await failureOf([address], dialer)).reason).toBe('blocked-by-us')
    }
    expect((await failureOf([address], other)).reason).toBe('self')
  })

  it('classifies an unresolvable name, and an address without TCP', async () => {
    const id = await someId()
    expect((await failureOf([`/dns4/nobody.invalid/tcp/9222/p2p/${id}`])).reason).toBe('name-not-found')
    expect((await failureOf([`/dnsaddr/nobody.invalid/p2p/${id}`])).reason).toBe('name-not-found')
    expect((await failureOf([`/ip4/127.0.0.1/udp/9222/quic-v1/p2p/${id}`])).reason).toBe('no-address')
  })

  it('classifies by the address whose dial got farthest', async () => {
    const closes = await startRawServer((socket) => socket.once('data', () => socket.end()))
    const id = await someId()
    const failure = await failureOf([`/ip4/127.0.0.1/tcp/2/p2p/${id}`, `${closes}/p2p/${id}`])
    expect(failure.reason).toBe('closed')
    expect(failure.text).toMatch(/refused.*; the peer closed/)
  })

  it('classifies routing errors, and keeps the text of unknown errors', () => {
    const system = (code: string) => Object.assign(new Error(`connect ${code}`), { code, address: '::1', port: 7 })
    expect(classifyDialFailure(system('ENETUNREACH'))).toEqual({
      reason: 'unreachable',
      text: 'no route to that host from here ([::1]:7)',
    })
    expect(classifyDialFailure(system('EADDRNOTAVAIL')).reason).toBe('local')
    expect(classifyDialFailure(new Error('boom'))).toEqual({ reason: 'unknown', text: 'the dial failed: boom' })
    expect(classifyDialFailure('boom').text).toBe('the dial failed: boom')
    expect(classifyDialFailure(new AggregateError([], 'none')).text).toBe('the dial failed: none')
  })
})
