import type { JsonValue } from '../../../src/jsonRpc/types.ts'
import type { Random } from '../random.ts'
import type { SampleCall } from './calls.ts'

/** Placeholder for nesting that JSON.stringify cannot write. */
const NESTED = '@nested@'

/** A body for a port that serves `calls`: a sample, or a batch of samples, usually mutated. */
export function makeBody(random: Random, calls: readonly [SampleCall, ...SampleCall[]]): Buffer {
  const one = (): JsonValue => mutateCall(random, random.of(calls), random.below(9))
  const content = random.once(6) ? makeBatch(random, one) : one()
  const text = mutateText(random, JSON.stringify(content) ?? '')
  return mutateBytes(random, text)
}

function makeBatch(random: Random, one: () => JsonValue): JsonValue {
  if (random.once(40)) return Array.from({ length: 1_001 }, () => random.below(2))
  return Array.from({ length: random.below(6) }, one)
}

function mutateCall(random: Random, { method, params }: SampleCall, id: number): JsonValue {
  const call: { [key: string]: JsonValue } = { jsonrpc: '2.0', id, method, params: structuredClone(params) }
  for (let left = random.below(4); left > 0; left--) mutateMember(random, call)
  if (random.once(15)) return oddValue(random)
  return call
}

/** Changes a member, near the root or deeply nested. */
function mutateMember(random: Random, value: { [key: string]: JsonValue | undefined } | JsonValue[]): void {
  const keys = Object.keys(value)
  const [first, ...others] = keys
  if (first === undefined) {
    if (Array.isArray(value)) value.push(oddValue(random))
    return
  }
  // Method and id change less often than the parameters.
  const key = 'params' in value && !random.once(4) ? 'params' : random.of([first, ...others])
  const container = value as { [key: string]: JsonValue | undefined }
  const member = container[key]
  if (typeof member === 'object' && member !== null && !JSON.isRawJSON(member) && !random.once(4)) {
    mutateMember(random, member)
    return
  }
  switch (random.below(8)) {
    case 0:
      delete container[key]
      if (Array.isArray(value)) value.length = Math.max(0, value.length - 1)
      return
    case 1: {
      const name = random.of(['__proto__', 'constructor', 'toString', '', '\u0000', 'then'])
      Object.defineProperty(value, name, { value: member, enumerable: true, configurable: true, writable: true })
      return
    }
    case 2:
      container[key] = random.once(2) ? [member ?? null] : { [key]: member ?? null }
      return
    case 3:
    case 4:
      container[key] = oddValue(random)
      return
    case 5:
      if (Array.isArray(value)) value.push(oddValue(random))
      else container[key] = NESTED
      return
    default:
      container[key] = mutateLeaf(random, member)
  }
}

function mutateLeaf(random: Random, leaf: JsonValue | undefined): JsonValue {
  if (typeof leaf === 'number') return random.of([-leaf, leaf + 0.5, leaf * 2 ** 60, String(leaf)])
  // Addresses of other machines must not be dialed.
  if (typeof leaf !== 'string' || leaf.startsWith('/ip4/')) return oddValue(random)
  const at = random.below(leaf.length + 1)
  const [before, after] = [leaf.slice(0, at), leaf.slice(at)]
  return random.of([
    before,
    after,
    `${before}${after.slice(1)}`,
    `${before}${random.of(['0', 'f', 'g', ' ', '\u0000', 'é', '\ud800', '"', '\\', '😀'])}${after}`,
    leaf.toUpperCase(),
    leaf.repeat(1 + random.below(40)),
    `${leaf}${'0'.repeat(random.of([1, 63, 10_000]))}`,
    Number(leaf) || 0,
  ])
}

function oddValue(random: Random): JsonValue {
  const value = random.of<unknown>([
    null,
    true,
    false,
    0,
    -1,
    1.5,
    2 ** 53,
    JSON.rawJSON('1e400'),
    JSON.rawJSON('-0'),
    JSON.rawJSON('123456789012345678901234567890'),
    '',
    '0x',
    '0x0',
    '0x00',
    `0x${'f'.repeat(64)}`,
    `0x${'f'.repeat(1_000)}`,
    'latest',
    'toString',
    '__proto__',
    'eth_',
    'devium_nothing',
    '\u0000\u0001',
    'x'.repeat(5_000),
    [],
    {},
    [[]],
    [null],
    Array.from({ length: 1_000 }, (_, index) => index),
    { __proto__: null, toString: 1 },
    { length: 2 ** 32 },
    NESTED,
  ])
  return structuredCloneOf(value)
}

/** A copy with raw numbers, which structuredClone loses. */
function structuredCloneOf(value: unknown): JsonValue {
  if (Array.isArray(value)) return [...value]
  return (typeof value === 'object' && value !== null && !JSON.isRawJSON(value) ? { ...value } : value) as JsonValue
}

function mutateText(random: Random, written: string): string {
  // Only one, because several would exceed the body limit.
  const depth = random.once(20) ? 40_000 : random.of([3, 100, 150, 2_000])
  const text = written.replace(`"${NESTED}"`, () =>
    random.once(2) ? `${'['.repeat(depth)}${']'.repeat(depth)}` : `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
  )
  const at = random.below(text.length + 1)
  const insert = (piece: string) => `${text.slice(0, at)}${piece}${text.slice(at)}`
  switch (random.below(16)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return text.replace(
        '{',
        `{${random.of(['"id":7', '"method":"web3_sha3"', '"__proto__":{"id":1}', '"params":{}'])},`,
      )
    case 2:
      return insert(random.of([',', ':', '}', ']', '[', '{', '"', '\\u12', 'NaN', '/**/', '\n', '\u2028', '\ufeff']))
    case 3:
      return `${text}${random.of([text, ' ', '\n\n', '\u0000', '//', ','])}`
    case 4:
      return text.replace(
        /"id":\d+/,
        `"id":${random.of(['null', '"a"', '1.5', '18446744073709551616', '{}', '1e999'])}`,
      )
    case 5:
      return text.replace(/"id":\d+,/, '')
    default:
      return text
  }
}

function mutateBytes(random: Random, text: string): Buffer {
  const bytes = Buffer.from(text)
  // See mutateLeaf.
  if (text.includes('/ip4/')) return bytes
  const at = random.below(bytes.length + 1)
  switch (random.below(30)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), random.bytes(1 + random.below(4)), bytes.subarray(at)])
    case 1:
      return Buffer.from(text, 'utf16le')
    case 2:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])
    case 3:
      return random.bytes(random.below(200))
    case 4:
      return bytes.subarray(at)
    case 5:
      if (bytes.length > 0) bytes[at % bytes.length] = random.below(256)
      return bytes
    default:
      return bytes
  }
}
