import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
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

  it.each<[string, (string | number)[]]>([
    [`=${PEER}`, ['""']],
    [`a b=${PEER}`, ['"a b"']],
    [`${'a'.repeat(41)}=${PEER}`, [40]],
    ['a=somebody', []],
    [PEER, ['name=', PEER]],
  ])('are refused: %s', (text, named) => {
    expect(() => parsePeerName(text)).toThrow(errorWith('decode', ...named))
  })
})
