import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../jsonRpc/types.ts'
import { jsonSize } from './jsonSize.ts'

describe('jsonSize', () => {
  it('is that of the text, but for escapes', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 4 }), (text) => {
        fc.pre(!text.includes('\\'))
        const value: JsonValue = JSON.parse(text)
        expect(jsonSize(value)).toBe(Buffer.byteLength(JSON.stringify(value)))
      }),
    )
    expect(jsonSize(['é', { ö: null, a: [] }])).toBe(Buffer.byteLength('["é",{"ö":null,"a":[]}]'))
  })

  it('is found however deep the value is', () => {
    const depth = 90_000
    expect(jsonSize(JSON.parse('['.repeat(depth) + ']'.repeat(depth)))).toBe(2 * depth)
  })
})
