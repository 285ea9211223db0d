import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
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
    ['a = 1\nb', /^TOML line 2: incomplete key-value/],
    ['a = 1\na = 2', /^TOML line 2: trying to redefine/],
    ['a = 9007199254740993', /^TOML line 1: integer value cannot be represented losslessly$/],
    [`a = ${'['.repeat(50)}`, /^TOML line 1: document contains excessively nested structures/],
  ])('refuses %j and names the line', (text, message) => {
    expect(() => parseToml(text)).toThrow(DecodeError)
    expect(() => parseToml(text)).toThrow(message)
  })

  it('accepts any key, including names of object members', () => {
    const table = parseToml('__proto__ = 1\nconstructor = 2')
    expect(Object.keys(table)).toEqual(['__proto__', 'constructor'])
    expect(Object.getPrototypeOf(table)).toBeNull()
  })
})
