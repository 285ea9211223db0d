import { describe, expect, it } from 'vitest'
import {
  DEFAULT_FORK,
  forksAround,
  forksAtGenesis,
  genesisFork,
  parseFork,
  parseForkActivations,
  withActivations,
} from './forks.ts'

const start = { startTime: 1_000, blockTime: 2 }
const add = (text: string, fork: Parameters<typeof forksAtGenesis>[0] = 'holocene') =>
  withActivations(forksAtGenesis(fork), parseForkActivations(text), start)

describe('forks of a testnet', () => {
  it('are parsed by name, and a typo gets a suggestion', () => {
    expect(parseFork('Isthmus')).toBe('isthmus')
    expect(() => parseFork('isthums')).toThrow('unknown fork "isthums", did you mean isthmus?')
    expect(() => parseFork('joviann')).toThrow('did you mean jovian?')
    expect(() => parseFork('nonsense')).toThrow(/^unknown fork "nonsense": known are ecotone, .*, lagoon$/)
  })

  it('start with the requested fork, or the fork before the first activation', () => {
    expect(genesisFork(undefined, [])).toBe(DEFAULT_FORK)
    expect(genesisFork('granite', [])).toBe('granite')
    expect(genesisFork(undefined, parseForkActivations('jovian:9,isthmus:5'))).toBe('holocene')
    expect(() => genesisFork(undefined, parseForkActivations('ecotone:5'))).toThrow('cannot begin before ecotone')
  })

  it('activate one after the other', () => {
    expect(add('jovian:20,isthmus:9')).toEqual({ ...forksAtGenesis('holocene'), isthmus: 1_009, jovian: 1_020 })
    expect(forksAtGenesis('granite')).toEqual({ regolith: 0, canyon: 0, delta: 0, ecotone: 0, fjord: 0, granite: 0 })
    const times = add('jovian:20,isthmus:9')
    expect(forksAround(times, 1_008)).toEqual({ active: 'holocene', next: { fork: 'isthmus', time: 1_009 } })
    expect(forksAround(times, 1_009)).toEqual({ active: 'isthmus', next: { fork: 'jovian', time: 1_020 } })
    expect(forksAround(times, 2_000)).toEqual({ active: 'jovian' })
  })

  it.each([
    ['isthmus', 'expected <fork>:<seconds>, for example karst:60, not "isthmus"'],
    ['isthmus:-5', 'expected <fork>:<seconds>'],
    ['isthmus:1m', 'expected <fork>:<seconds>'],
    ['ishtmus:5', 'did you mean isthmus?'],
    ['isthmus:0', '--fork-at isthmus:0: that time is over; --fork isthmus has it'],
    ['granite:5', '--fork-at granite:5: the chain has granite from its genesis block on'],
    ['jovian:5', '--fork-at jovian:5: isthmus comes before it: give that an earlier time, --fork-at isthmus:<seconds>'],
    [
      'isthmus:20,jovian:10',
      '--fork-at jovian:10: isthmus comes before it, in an earlier block: it is set to 20 seconds',
    ],
    // Blocks are 2 s apart, so both forks would activate in block 5.
    ['isthmus:9,jovian:10', 'in an earlier block'],
    ['isthmus:9,isthmus:19', '--fork-at isthmus:19: isthmus is given twice'],
  ])('refuse %s', (text, message) => {
    expect(() => add(text)).toThrow(message)
  })
})
