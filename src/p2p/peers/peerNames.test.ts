import { describe, expect, it } from 'vitest'
import { namesOf, parseNamedAddress, parsePeerName } from './peerNames.ts'

const PEER = '16Uiu2HAm5UcGBcvZtAYgnANxy7LGgmsAaC3HoKN8tcuH6Hyr2Er8'
const ADDRESS = `/ip4/127.0.0.1/tcp/9222/p2p/${PEER}`

describe('peer names', () => {
  it('are parsed before an address or an id', () => {
    expect(parseNamedAddress(`seq-1=${ADDRESS}`)).toMatchObject({ name: 'seq-1' })
    expect(parseNamedAddress(`seq-1=${ADDRESS}`).address.toString()).toBe(ADDRESS)
    expect(parseNamedAddress(ADDRESS).name).toBeUndefined()
    expect(namesOf([parseNamedAddress(`a=${ADDRESS}`), parsePeerName(`b=${PEER}`)])).toEqual({ [PEER]: 'a' })
  })

  it.each([
    [`=${PEER}`, '"" is not a valid name'],
    [`a b=${PEER}`, '"a b" is not a valid name'],
    [`${'a'.repeat(41)}=${PEER}`, 'use up to 40 letters'],
    ['a=somebody', 'failed to parse peer ID'],
    [PEER, 'expected name=<peer id>'],
  ])('are refused: %s', (text, complaint) => {
    expect(() => parsePeerName(text)).toThrow(complaint)
  })
})
