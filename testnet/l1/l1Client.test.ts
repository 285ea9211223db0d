import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { checkL1Forks, l1Parameters, parseL1Client, parseL1ForkActivations } from './l1Client.ts'

describe('the L1 of a testnet', () => {
  it('is Anvil, or the go-ethereum at a path', () => {
    expect(parseL1Client('anvil')).toBe('anvil')
    expect(parseL1Client('geth=/opt/geth')).toEqual({ geth: '/opt/geth' })
    expect(parseL1Client('geth=bin/geth')).toEqual({ geth: join(process.cwd(), 'bin', 'geth') })
    for (const text of ['', 'geth', 'geth=', 'reth=/opt/reth', 'Anvil']) {
      expect(() => parseL1Client(text), text).toThrow('expected anvil, or geth=<path of the go-ethereum binary>')
    }
  })

  it('parses scheduled forks by name and seconds', () => {
    expect(parseL1ForkActivations('')).toEqual([])
    expect(parseL1ForkActivations(' Amsterdam:60 ')).toEqual([{ fork: 'amsterdam', seconds: 60 }])
  })

  it.each([
    ['amsterdam', 'expected <fork>:<seconds>, for example amsterdam:60, not "amsterdam"'],
    ['amsterdam:-1', 'expected <fork>:<seconds>'],
    ['amsterdan:9', 'unknown fork of L1 "amsterdan", did you mean amsterdam? Known are amsterdam'],
    ['jovian:9', 'unknown fork of L1 "jovian": known are amsterdam'],
    ['amsterdam:0', 'amsterdam:0: the first L1 block comes before amsterdam, give at least 1'],
    ['amsterdam:5,amsterdam:9', 'amsterdam is given twice'],
  ])('refuses %s', (text, message) => {
    expect(() => parseL1ForkActivations(text)).toThrow(message)
  })

  it('schedules forks on go-ethereum only', () => {
    const activations = parseL1ForkActivations('amsterdam:60')
    expect(() => checkL1Forks('anvil', activations)).toThrow(
      '--l1-fork-at amsterdam:60: Anvil has no amsterdam, add --l1-client geth=<path>',
    )
    expect(() => checkL1Forks('anvil', [])).not.toThrow()
    expect(() => checkL1Forks({ geth: '/opt/geth' }, activations)).not.toThrow()
  })

  it('counts fork seconds from the start', () => {
    const geth = { geth: '/opt/geth' }
    expect(l1Parameters('anvil', [], 1_000)).toBeUndefined()
    expect(l1Parameters(geth, [], 1_000)).toEqual({ client: 'geth' })
    expect(l1Parameters(geth, parseL1ForkActivations('amsterdam:60'), 1_000)).toEqual({
      client: 'geth',
      amsterdamTime: 1_060,
    })
  })
})
