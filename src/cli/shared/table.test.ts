import { describe, expect, it } from 'vitest'
import { formatTable, plainText, wrapText } from './table.ts'

describe('formatTable', () => {
  it('aligns numbers to the right, including squared and missing ones', () => {
    expect(
      formatTable(
        ['what', 'count'],
        [
          ['a', '2²'],
          ['bb', '-10.5'],
          ['c', ''],
          ['d', '-'],
        ],
      ),
    ).toBe(['what  count', 'a        2²', 'bb    -10.5', 'c', 'd         -'].join('\n'))
  })
  it('wraps the last column, with a minimum width', () => {
    const rows = [['key', 'one two three four five six']]
    expect(formatTable(['name', 'text'], rows, 30)).toBe('name  text\nkey   one two three four five\n      six')
    expect(formatTable(['name', 'text'], rows, 5)).toBe(formatTable(['name', 'text'], rows, 30))
    expect(formatTable(['name', 'text'], rows)).toBe('name  text\nkey   one two three four five six')
  })
})

describe('wrapText', () => {
  it('breaks at spaces and indents continuation lines; a long word is not broken', () => {
    expect(wrapText('aa bb cc', 5, 2)).toBe('aa bb\n  cc')
    expect(wrapText('aaaaaaaaaa bb', 5, 2)).toBe('aaaaaaaaaa\n  bb')
    expect(wrapText('aa bb cc', undefined, 2)).toBe('aa bb cc')
  })
})

describe('plainText', () => {
  it('has no control characters', () => {
    expect(plainText('a\u001b[2J\nb\u0085')).toBe('a?[2J?b?')
  })
})
