import { expect, it } from 'vitest'
import { UsageError } from '../errors.ts'
import { errorWith } from './errorWith.ts'

const error = new UsageError('--p2p.listen.tcp: L1 has port 80 [reserved]')

it.each([[[]], [['--p2p.listen.tcp', 80]], [['[reserved]', 80, 'L1']]])('matches an error that names %j', (named) => {
  expect(error).toEqual(errorWith('usage', ...named))
  expect(() => {
    throw error
  }).toThrow(errorWith('usage', ...named))
})

it.each([[[8]], [[1]], [['--p2p.listen.udp']], [[80, 'L2']]])(
  'does not match an error that does not name %j',
  (named) => {
    expect(error).not.toEqual(errorWith('usage', ...named))
  },
)

it('does not match another code', () => {
  expect(error).not.toEqual(errorWith('decode', 80))
})
