import { RPC } from '@chainsafe/libp2p-gossipsub/message'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
import { type AnyRpc, encodeRpc } from '../testUtils/rpcCodec.ts'
import { checkRpcShape, MAX_CONTROL_MESSAGES, MAX_ID_BYTES, MAX_RPC_FIELDS } from './rpcShape.ts'

const TOPIC = '/optimism/10/2/blocks'

function ids(count: number, bytes = 20): Uint8Array[] {
  return Array.from({ length: count }, () => new Uint8Array(bytes))
}

describe('the outline of an RPC', () => {
  it.each<[string, AnyRpc]>([
    ['nothing', {}],
    ['a message of 1 MB', { messages: [{ topic: TOPIC, data: new Uint8Array(1_000_000) }] }],
    ['what an honest peer tells on four topics', { ihave: Array.from({ length: 4 }, () => ids(5_000)) }],
    ['an IWANT of as many', { iwant: [ids(5_000)] }],
    ['an IDONTWANT', { idontwant: [ids(1)] }],
    ['control messages of each kind', { ihave: [ids(1)], graft: [TOPIC], prune: [[TOPIC, 60]] }],
    ['ids of the longest kind', { ihave: [ids(3, MAX_ID_BYTES)] }],
    [
      'subscriptions',
      {
        subscriptions: [
          [TOPIC, true],
          [TOPIC, false],
        ],
      },
    ],
  ])('lets pass %s', (_id, rpc) => {
    expect(() => checkRpcShape(encodeRpc(rpc))).not.toThrow()
  })

  it.each<[string, AnyRpc, string]>([
    ['empty ids without end', { ihave: [ids(MAX_RPC_FIELDS, 0)] }, 'fields'],
    ['messages without end', { messages: Array.from({ length: MAX_RPC_FIELDS }, () => ({ topic: '' })) }, 'fields'],
    ['thousands of GRAFTs', { graft: Array.from({ length: MAX_CONTROL_MESSAGES + 1 }, () => TOPIC) }, 'of one kind'],
    ['thousands of IHAVEs', { ihave: Array.from({ length: 1_000 }, () => []) }, 'of one kind'],
    ['an id of a kilobyte', { idontwant: [ids(1, 1_000)] }, 'message id'],
  ])('refuses %s', (_id, rpc, message) => {
    expect(() => checkRpcShape(encodeRpc(rpc))).toThrow(message)
  })

  it.each<[string, number[], string]>([
    ['a group', [0x1b], 'wire type 3'],
    ['a member longer than the rest', [0x12, 0x05, 0x00], 'longer'],
    ['a number cut short', [0x12, 0x80], 'ends inside'],
    ['a number of eleven bytes', [0x08, ...new Array<number>(11).fill(0x80)], 'too large'],
    ['a length beyond what a number holds', [0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], 'too large'],
  ])('refuses %s', (_id, bytes, message) => {
    expect(() => checkRpcShape(Uint8Array.from(bytes))).toThrow(message)
    expect(() => checkRpcShape(Uint8Array.from(bytes))).toThrow(DecodeError)
  })

  it('finds in arbitrary bytes nothing but DecodeErrors', () => {
    const bytes = fc.uint8Array({ maxLength: 200 })
    const field = fc.tuple(fc.integer({ min: 0, max: 7 * 8 + 7 }), bytes).map(([key, rest]) => [key, ...rest])
    const stream = fc.oneof(
      bytes,
      fc.array(field, { maxLength: 6 }).map((fields) => Uint8Array.from(fields.flat())),
    )
    fc.assert(
      fc.property(stream, (input) => {
        try {
          checkRpcShape(input)
        } catch (error) {
          expect(error).toBeInstanceOf(DecodeError)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  it('lets pass whatever the library encodes within the limits, and the library reads it back', () => {
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
      { numRuns: 300 },
    )
  })
})
