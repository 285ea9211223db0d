import { expect, it } from 'vitest'
import { shortHash, shortPeer } from './shortIds.ts'

it('shortens a hash to its beginning and end, and keeps a short one', () => {
  expect(shortHash(`0x1234${'ab'.repeat(28)}cdef`)).toBe('0x1234…cdef')
  expect(shortHash('0x1234abcd')).toBe('0x1234abcd')
})

it('shortens a peer id to its end, which every command accepts, but not an address', () => {
  expect(shortPeer('16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8')).toBe('…6Hyr2Er8')
  for (const ip of ['10.1.2.3', '198.51.100.200', '2001:db8::/32']) expect(shortPeer(ip)).toBe(ip)
})
