import { expect, it } from 'vitest'
import { type Place, readPlace, writePlace } from '../dashboard/place.ts'

it.each<[string, Place]>([
  ['', {}],
  ['#node=verifier1', { node: 'verifier1' }],
  ['#peer=16Uiu2HA&show=refused', { peer: '16Uiu2HA', show: 'refused' }],
  ['#node=a+%26+b&block=0x12&search=op-node%2Fv1', { node: 'a & b', block: '0x12', search: 'op-node/v1' }],
])('the address %s selects what the page shows', (hash, place) => {
  expect(readPlace(hash)).toEqual({
    node: undefined,
    peer: undefined,
    block: undefined,
    details: undefined,
    search: undefined,
    show: undefined,
    ...place,
  })
  expect(writePlace(place)).toBe(hash)
})

it('an address with unknown parts is parsed as far as it is known', () => {
  expect(writePlace(readPlace('#evil=1&node=&peer=x'))).toBe('#peer=x')
})
