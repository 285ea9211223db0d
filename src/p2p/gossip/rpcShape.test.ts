import { RPC } from '@chainsafe/libp2p-gossipsub/message'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { type AnyRpc, encodeRpc } from '../hostile/rpcCodec.ts'
import { throwsOnly } from '../testUtils/throwsOnly.ts'
import { checkRpcShape, MAX_ID_BYTES, MAX_RPC_FIELDS } from './rpcShape.ts'

const TOPIC = '/optimism/10/2/blocks'

function ids(count: number, bytes = 20): Uint8Array[] {
  return Array.from({ length: count }, () => new Uint8Array(bytes))
}

describe('checkRpcShape', () => {
  it.each<[string, AnyRpc]>([
    ['nothing', {}],
    ['a message of 1 MB', { messages: [{ topic: TOPIC, data: new Uint8Array(1_000_000) }] }],
    ['the IHAVEs of an honest peer on four topics', { ihave: Array.from({ length: 4 }, () => ids(5_000)) }],
    ['an IWANT for 5,000 messages', { iwant: [ids(5_000)] }],
    ['ids of the maximum length', { ihave: [ids(3, MAX_ID_BYTES)] }],
    // The control messages, the IHAVE and its topic are fields too.
    ['the most fields', { ihave: [ids(MAX_RPC_FIELDS - 3, 0)] }],
    ['a backoff of eight bytes', { prune: [[TOPIC, 2 ** 50]] }],
  ])('accepts %s', (_id, rpc) => {
    expect(() => checkRpcShape(encodeRpc(rpc))).not.toThrow()
  })

  it.each<[string, AnyRpc, string | number]>([
    ['one empty id too many', { ihave: [ids(MAX_RPC_FIELDS - 2, 0)] }, MAX_RPC_FIELDS],
    [
      'endless messages',
      { messages: Array.from({ length: MAX_RPC_FIELDS }, () => ({ topic: TOPIC })) },
      MAX_RPC_FIELDS,
    ],
    ['an id of a kilobyte', { idontwant: [ids(1, 1_000)] }, 'message id'],
  ])('refuses %s', (_id, rpc, named) => {
    expect(() => checkRpcShape(encodeRpc(rpc))).toThrow(errorWith('decode', named))
  })

  it.each<[string, number[], string]>([
    ['a group', [0x1b], 'wire type 3'],
    ['a group that is unknown', [0x3b], 'wire type 3'],
    ['a field number above 32 bits', [0xf8, 0xff, 0xff, 0xff, 0x1f, 0x00], 'field number'],
    ['a flag outside of its subscription', [0x0a, 0x01, 0x08, 0x01], 'container'],
    ['a field longer than the remaining bytes', [0x12, 0x05, 0x00], 'field'],
    ['a truncated number', [0x12, 0x80], 'ends inside'],
    ['a number of eleven bytes', [0x38, ...new Array<number>(11).fill(0x80)], 'number'],
    // The library ignores the wire type of a known field: it would read ids where others read four bytes and a field.
    ['control messages with the wire type of four bytes', [0x1d, 0x80, 0x80, 0x80, 0x00], 'wire type 5, expected 2'],
    ['a subscription with the wire type of a number', [0x08, 0x00], 'wire type 0, expected 2'],
    ['ids with the wire type of a number', [0x1a, 0x04, 0x12, 0x02, 0x08, 0x00], 'wire type 0, expected 2'],
    ['a flag with the wire type of bytes', [0x0a, 0x02, 0x0a, 0x00], 'wire type 2, expected 0'],
    // It also reads ten bytes for a number of six.
    ['a length of six bytes', [0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 'number'],
    ['a flag of six bytes', [0x0a, 0x07, 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00], 'number'],
    ['an id one byte too long', [0x1a, 69, 0x0a, 67, 0x12, 65, ...new Array<number>(65).fill(1)], 'message id'],
    ['a truncated field of eight bytes', [0x39, 0x00, 0x00, 0x00, 0x00], 'field'],
    ['a truncated field of four bytes', [0x3d, 0x00, 0x00, 0x00], 'field'],
    ['a length above the safe integers', [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 'number'],
  ])('refuses %s', (_id, bytes, named) => {
    expect(() => checkRpcShape(Uint8Array.from(bytes))).toThrow(errorWith('decode', named))
  })

  it('skips and counts unknown fields at every depth that the library decodes', () => {
    const unknown = [...Buffer.from('388001 390102030405060708 3a01ff 3d01020304'.replaceAll(' ', ''), 'hex')]
    const within = (key: number, content: number[]) => [key, content.length, ...content]
    const places: [string, number[], number][] = [
      ['an RPC', unknown, 4],
      ['a message', within(0x12, unknown), 5],
      ['control messages', within(0x1a, unknown), 5],
      ['an IHAVE', within(0x1a, within(0x0a, unknown)), 6],
      ['a PRUNE', within(0x1a, within(0x22, unknown)), 6],
      ['a peer of a PRUNE', within(0x1a, within(0x22, within(0x12, unknown))), 7],
    ]
    for (const [place, bytes, fields] of places) {
      expect(checkRpcShape(Uint8Array.from([...bytes, 0x0a, 0x00])), place).toBe(fields + 1)
      expect(RPC.decode(Uint8Array.from([...bytes, 0x0a, 0x00])).subscriptions, place).toHaveLength(1)
    }
  })

  it('counts at least as much as the library decodes, for any bytes', () => {
    const length = fc.oneof(
      fc.constantFrom(0, 1, 2, 3, 4, 5, 8).map((n) => [n]),
      fc.constantFrom([0x84, 0x80, 0x80, 0x00], [0x82, 0x80, 0x80, 0x80, 0x80, 0x00], [0x88, 0x80, 0x80, 0x80, 0x80]),
    )
    const field = fc.tuple(fc.integer({ min: 1, max: 6 }), fc.integer({ min: 0, max: 5 }), length)
    const stream = fc
      .array(field, { maxLength: 40 })
      .map((fields) => Uint8Array.from(fields.flatMap(([number, type, rest]) => [number * 8 + type, ...rest])))
    fc.assert(
      fc.property(stream, (input) => {
        let fields: number
        try {
          fields = checkRpcShape(input)
        } catch {
          return
        }
        const { subscriptions, messages, control } = RPC.decode(input)
        const { ihave = [], iwant = [], graft = [], prune = [], idontwant = [] } = control ?? {}
        const lists = [...ihave, ...iwant, ...idontwant].map(({ messageIDs }) => messageIDs)
        const made = [subscriptions, messages, graft, prune, ...lists, ...prune.map(({ peers }) => peers)]
        expect(fields).toBeGreaterThanOrEqual(made.reduce((sum, { length }) => sum + length, lists.length))
      }),
      { numRuns: propertyRuns(20_000) },
    )
  })

  it('throws only DecodeErrors on arbitrary bytes', () => {
    const bytes = fc.uint8Array({ maxLength: 200 })
    const field = fc.tuple(fc.integer({ min: 0, max: 7 * 8 + 7 }), bytes).map(([key, rest]) => [key, ...rest])
    const stream = fc.oneof(
      bytes,
      fc.array(field, { maxLength: 6 }).map((fields) => Uint8Array.from(fields.flat())),
    )
    fc.assert(
      fc.property(stream, (input) => throwsOnly([DecodeError], () => checkRpcShape(input))),
      { numRuns: propertyRuns(2_000) },
    )
  })

  it('accepts everything that the library encodes within the limits, and the library decodes it', () => {
    const id = fc.uint8Array({ maxLength: MAX_ID_BYTES })
    const lists = fc.array(fc.array(id, { maxLength: 20 }), { maxLength: 4 })
    const topic = fc.string({ maxLength: 40 })
    const rpc = fc.record({
      subscriptions: fc.array(fc.tuple(topic, fc.boolean()), { maxLength: 8 }),
      messages: fc.array(fc.record({ topic, data: fc.uint8Array({ maxLength: 300 }) }), { maxLength: 8 }),
      ihave: lists,
      iwant: lists,
      idontwant: lists,
      graft: fc.array(topic, { maxLength: 8 }),
      prune: fc.array(fc.tuple(topic, fc.integer({ min: 0, max: 1_000_000 })), { maxLength: 8 }),
    })
    fc.assert(
      fc.property(rpc, (members) => {
        const bytes = encodeRpc(members)
        checkRpcShape(bytes)
        const decoded = RPC.decode(bytes)
        expect(decoded.messages.map(({ data }) => Buffer.from(data ?? []).toString('hex'))).toEqual(
          members.messages.map(({ data }) => Buffer.from(data).toString('hex')),
        )
        expect(decoded.control?.ihave.map(({ messageIDs }) => messageIDs.length) ?? []).toEqual(
          members.ihave.map((list) => list.length),
        )
      }),
      { numRuns: propertyRuns(300) },
    )
  })
})
