import { expect, it } from 'vitest'
import { attacksOn } from '../../../p2p/hostile/attacks.ts'
import { HOSTILE_KINDS } from './hostileKinds.ts'

it('the kinds of hostile peers are the implemented attacks', () => {
  expect([...HOSTILE_KINDS]).toEqual(Object.keys(attacksOn(901n, '/optimism/901/3/blocks')))
})
