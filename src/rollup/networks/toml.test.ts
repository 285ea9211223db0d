import { describe, expect, it } from 'vitest'
import { parseToml } from './toml.ts'

describe('parseToml', () => {
  it('reads what chain configurations are written with', () => {
    const text = [
      'name = "OP \\"Test\\" \\u00e9" # a comment',
      "path = 'C:\\x'",
      'chain_id = 1_000',
      'drift = -2.5e1',
      'hex = 0xff',
      'on = true',
      '"a b".c = false',
      '',
      '[hardforks]',
      '  canyon_time = 0 # Thu 1 Jan 1970',
      '[genesis.l1]\r',
      'number = 5',
      '[[deployments]]',
      'at = [1, 2, # two',
      '  "x",',
      ']',
      '[[deployments]]',
      'inline = { a = 1, b.c = [] }',
    ].join('\n')
    expect(JSON.parse(JSON.stringify(parseToml(text)))).toEqual({
      name: 'OP "Test" é',
      path: 'C:\\x',
      chain_id: 1000,
      drift: -25,
      hex: 255,
      on: true,
      'a b': { c: false },
      hardforks: { canyon_time: 0 },
      genesis: { l1: { number: 5 } },
      deployments: [{ at: [1, 2, 'x'] }, { inline: { a: 1, b: { c: [] } } }],
    })
  })

  it.each([
    ['a = 1\nb', 'line 2: expected "="'],
    ['a = 1\na = 2', 'line 2: "a" is given twice'],
    ['a = "x', 'line 1: a text has no end'],
    ['a = 1 2', 'line 1: expected the end of the line'],
    ['a = 1979-05-27', 'line 1: expected a text, a number'],
    ['a = 9007199254740993', 'line 1: 9007199254740993 is too large'],
    ['[a\n', 'line 1: expected "]"'],
    ['a = 1\n[a]', '"a" is no table'],
    [`a = ${'['.repeat(50)}`, 'too deeply nested'],
    ['a = "\\q"', 'unknown escape \\q'],
    ['= 1', 'expected a key'],
  ])('refuses %j', (text, message) => {
    expect(() => parseToml(text)).toThrow(message)
  })

  it('takes any key for a plain one', () => {
    expect(Object.keys(parseToml('__proto__ = 1\nconstructor = 2'))).toEqual(['__proto__', 'constructor'])
  })
})
