import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { parseToml } from './toml.ts'

describe('parseToml', () => {
  it('reads the syntax of chain configurations', () => {
    const text = '[genesis.l1]\r\nnumber = 1_000 # a comment\n[[deployments]]\ninline = { a = 0xff, b.c = ["x"] }'
    expect(parseToml(text)).toEqual({
      genesis: { l1: { number: 1000 } },
      deployments: [{ inline: { a: 255, b: { c: ['x'] } } }],
    })
  })

  it.each([
    ['a = 1\nb', 2],
    ['a = 1\na = 2', 2],
    ['a = 9007199254740993', 1],
    [`a = ${'['.repeat(50)}`, 1],
  ])('refuses %j and names the line', (text, line) => {
    expect(() => parseToml(text)).toThrow(errorWith('decode', `line ${line}:`))
  })

  it('accepts any key, including names of object members', () => {
    const table = parseToml('__proto__ = 1\nconstructor = 2')
    expect(Object.keys(table)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(table)).toBeNull()
  })
})
