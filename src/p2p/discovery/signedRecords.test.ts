import { ENR } from '@chainsafe/enr'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
import { decodeRlp, type RlpInput } from '../../lib/rlp.ts'
import { signedRecord } from '../testUtils/signedRecord.ts'
import { parseRecord } from './discv5.ts'

const privateKey = new Uint8Array(32).fill(7)
const otherKey = new Uint8Array(32).fill(8)
const port = Uint8Array.of(0x24, 0x06)
const place = { ip: Uint8Array.of(192, 0, 2, 1), tcp: port, udp: port }

/** Decodes as the library does for a record in a node's answer. */
function fromAnswer(text: string): ENR {
  const values = decodeRlp(Buffer.from(text.slice(4), 'base64url'))
  if (!Array.isArray(values)) throw new Error('no list')
  return ENR.decodeFromValues(values.filter((value) => value instanceof Uint8Array))
}

describe('a record signed by another implementation', () => {
  it.each<[string, Record<string, RlpInput>, bigint]>([
    ['a capital letter in a key', { Zed: port }, 1n],
    ['the highest sequence', {}, 2n ** 64n - 1n],
    ['the sequence 0, as devp2p makes them', {}, 0n],
  ])('keeps its text and sequence with %s', (_what, entries, sequence) => {
    const text = signedRecord(privateKey, { ...place, ...entries }, sequence)
    expect(parseRecord(text)).toMatchObject({ text, sequence, ip: '192.0.2.1', udpPort: 9222 })
    expect(fromAnswer(text).encodeTxt()).toBe(text)
  })

  it.each<[string, Record<string, RlpInput>]>([
    ['ip', { ip: Uint8Array.of(192, 0, 2) }],
    ['ip', { ip: [1, 2, 3, 4] }],
    ['udp', { udp: Uint8Array.of(1, 2, 3) }],
    ['udp', { udp: [1, 2] }],
    ['opstack', { opstack: [[1], [0]] }],
  ])('is read without its %s entry if the entry is invalid: %o', (name, entries) => {
    const text = signedRecord(privateKey, { ...place, ...entries })
    expect(parseRecord(text).text).toBe(text)
    expect(ENR.decodeTxt(text).kvs.has(name)).toBe(false)
    expect(ENR.decodeTxt(text).getLocationMultiaddr('udp')?.toString()).toBe(
      name === 'opstack' ? '/ip4/192.0.2.1/udp/9222' : undefined,
    )
  })

  it.each<[string, string]>([
    ['more than 300 bytes', signedRecord(privateKey, { ...place, pad: new Uint8Array(200) })],
    ['a wrong signature', signedRecord(privateKey, place).slice(0, 60) + signedRecord(otherKey, place).slice(60)],
    ['no sequence', 'enr:wIA'],
    ['a zero before its sequence', signedRecord(privateKey, place, Uint8Array.of(0, 5))],
    ['a sequence over 64 bits', signedRecord(privateKey, place, 2n ** 64n)],
    ['keys out of order', signedRecord(privateKey, place, 1n, [Buffer.from('a'), port])],
    ['a key twice', signedRecord(privateKey, place, 1n, [Buffer.from('udp'), port])],
    ['a key without value', signedRecord(privateKey, place, 1n, [Buffer.from('zed')])],
  ])('is refused for %s', (_why, text) => {
    expect(() => parseRecord(text)).toThrow(DecodeError)
  })
})
