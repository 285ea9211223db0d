import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { createAllowList } from './allowList.ts'

const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const STATIC = '16Uiu2HAm7y9oecxCZUMduLgP2vdBRgeUKRkSnYUd7yR2rYUqNnZ7'
const OTHER = '16Uiu2HAkvWbN45e8MSNbbRbtbCnRcPpmMPYcdrMtpf5XgrKGiBSo'

describe('an allow-list', () => {
  it.each<[string, string[], string | undefined, string | undefined, boolean | undefined]>([
    ['that is empty allows every peer', [], OTHER, '1.2.3.4', true],
    ['allows a listed peer at any address', [PEER], PEER, '1.2.3.4', true],
    ['allows static peers', [PEER], STATIC, '1.2.3.4', true],
    ['allows peers in a listed subnet', ['10.0.0.0/8'], OTHER, '10.9.9.9', true],
    ['allows peers at a listed address', ['fd00::7'], OTHER, 'fd00::7', true],
    ['refuses all others', [PEER, '10.0.0.0/8', 'fd00::7'], OTHER, 'fd00::8', false],
    ['cannot decide before the peer is known', [PEER], undefined, '1.2.3.4', undefined],
    ['cannot decide before the address is known', ['10.0.0.0/8'], OTHER, undefined, undefined],
    ['needs no address if it lists only peers', [PEER], OTHER, undefined, false],
  ])('%s', (_, entries, peer, ip, expected) => {
    expect(createAllowList(entries, [STATIC]).permits(peer, ip)).toBe(expected)
  })

  it('refuses entries that are neither a peer nor a range', () => {
    expect(() => createAllowList(['10.0.0.0/99'], [])).toThrow(errorWith('decode', '10.0.0.0/99'))
    expect(() => createAllowList(['somebody'], [])).toThrow(errorWith('decode'))
  })
})
