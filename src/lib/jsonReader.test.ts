import { expect, it } from 'vitest'
import { asArray, asObject, JsonObjectReader } from './jsonReader.ts'

const json = {
  text: 'a',
  count: 3,
  big: '12345678901234567890',
  flag: true,
  hash: '0xAB',
  none: null,
  list: [1],
  inner: { data: '0x00ff', quantity: '0x10' },
}
const reader = new JsonObjectReader(json, 'answer')

it('reads members by type, and null as absent', () => {
  const inner = reader.object('inner')
  expect([reader.integer('count'), reader.bigint('big'), reader.bigint('count')]).toEqual([
    3,
    12345678901234567890n,
    3n,
  ])
  expect([reader.optionalString('text'), reader.optionalBoolean('flag'), reader.hex('hash', 1)]).toEqual([
    ...['a', true, '0xab'],
  ])
  expect([inner.bytes('data', 2), inner.quantity('quantity'), inner.quantityNumber('quantity')]).toEqual([
    ...[Uint8Array.of(0, 255), 16n, 16],
  ])
  expect(reader.array('list')).toEqual([1])
  expect([reader.has('none'), reader.optionalObject('none'), reader.optionalArray('absent')]).toEqual([
    ...[false, undefined, undefined],
  ])
  // Names of Object.prototype do not count as members.
  expect(reader.has('toString')).toBe(false)
})

it.each([
  [() => new JsonObjectReader(null, 'answer'), 'answer', 'null'],
  [() => asObject([], 'answer'), 'answer', 'list'],
  [() => asArray({}, 'answer'), 'answer', 'object'],
  [() => reader.object('absent'), 'answer.absent', ''],
  [() => reader.array('none'), 'answer.none', ''],
  [() => reader.object('text'), 'answer.text', '"a"'],
  [() => reader.array('inner'), 'answer.inner', 'object'],
  [() => reader.integer('text'), 'answer.text', '"a"'],
  [() => reader.optionalString('count'), 'answer.count', '3'],
  [() => reader.optionalBoolean('list'), 'answer.list', 'list'],
  [() => reader.hex('hash', 2), 'answer.hash', '2 .*"0xAB"'],
  [() => reader.bytes('text'), 'answer.text', '"a"'],
  [() => reader.object('inner').bytes('data', 3), 'answer.inner.data', '3 .*2'],
  [() => reader.object('inner').quantity('data2'), 'answer.inner.data2', ''],
  [() => reader.quantity('count'), 'answer.count', '3'],
] as const)('names the member and its content: %s', (read, member, content) => {
  const message = expect.stringMatching(new RegExp(`^${member}:.*${content}`))
  expect(read).toThrow(expect.objectContaining({ code: 'decode', message }))
})
