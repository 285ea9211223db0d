import type { JsonValue } from '../jsonRpc/types.ts'

/**
 * Bytes of the value as JSON without spaces, without counting escapes. Writing 5 MB only to measure it takes 10 ms;
 * adding up its texts takes two. A value nested thousands deep cannot be written at all.
 */
export function jsonSize(value: JsonValue): number {
  let bytes = 0
  const open: object[] = []
  const add = (member: JsonValue | undefined): void => {
    if (typeof member === 'object' && member !== null) open.push(member)
    else bytes += typeof member === 'string' ? textSize(member) : String(member).length
  }
  add(value)
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const members: readonly JsonValue[] = Array.isArray(next) ? next : Object.values(next)
    bytes += 2 + Math.max(0, members.length - 1)
    if (members !== next) for (const name of Object.keys(next)) bytes += textSize(name) + 1
    for (const member of members) add(member)
  }
  return bytes
}

function textSize(text: string): number {
  return Buffer.byteLength(text) + 2
}
