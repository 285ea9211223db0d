import { expect } from 'vitest'

/**
 * Matches an error by its stable code and by data that its message names, such as a flag, a path, a field or a number.
 * For `toThrow` and `toEqual`. The rest of the message can change without the test.
 */
export function errorWith(code: string, ...named: (string | number | bigint)[]): unknown {
  const parts = named.map((data) => `(?=[^]*${patternOf(data)})`)
  return expect.objectContaining({ code, message: expect.stringMatching(new RegExp(`^${parts.join('')}`)) })
}

function patternOf(data: string | number | bigint): string {
  const text = String(data).replace(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  // "L1" and "10" do not name the number 1. "1x" does.
  return typeof data === 'string' ? text : String.raw`\b${text}(?!\d)`
}
