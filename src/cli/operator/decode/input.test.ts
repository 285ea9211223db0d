import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { errorWith } from '../../../lib/testUtils/errorWith.ts'
import { type DecodeInput, inputsOf } from './input.ts'

/** Frame 2 of a channel, which is its last, with `hello`. */
const FRAME = fromHex('0102030405060708090a0b0c0d0e0f1000020000000568656c6c6f01')
/** Data of a batcher transaction: the version and the frame. */
const WHOLE = concatBytes(Uint8Array.of(0), FRAME)

describe('inputsOf', () => {
  const text = (value: string) => new TextEncoder().encode(value)
  it.each<[string, Uint8Array, Partial<DecodeInput>[]]>([
    ['bytes', WHOLE, [{ source: 's', bytes: WHOLE }]],
    ['hex', text(`${toHex(WHOLE)}\n`), [{ source: 's', bytes: WHOLE }]],
    [
      'hex in lines',
      text(`${toHex(FRAME)}\n\n${toHex(FRAME).slice(2)}`),
      [
        { source: 's:1', bytes: FRAME },
        { source: 's:2', bytes: FRAME },
      ],
    ],
    ['JSON hex', text(JSON.stringify([toHex(FRAME)])), [{ source: 's[0]', bytes: FRAME }]],
    [
      'an answer of JSON-RPC',
      text(JSON.stringify({ jsonrpc: '2.0', result: { hash: null, type: '0x2', input: toHex(WHOLE) } })),
      [{ bytes: WHOLE, kind: 'data', transaction: { hash: null, type: 2, from: null, to: null } }],
    ],
    [
      'blobs of a beacon node',
      text(JSON.stringify({ data: [toHex(FRAME)] })),
      [{ source: 's.data', bytes: FRAME, kind: 'blob' }],
    ],
    [
      'sidecars',
      text(JSON.stringify({ data: [{ index: '0', blob: toHex(FRAME) }] })),
      [{ bytes: FRAME, kind: 'blob' }],
    ],
    [
      'frames as batch decoders write them',
      text(
        JSON.stringify({
          frames: [{ id: '0x0102030405060708090a0b0c0d0e0f10', frame_number: 2, data: 'aGVsbG8=', is_last: true }],
        }),
      ),
      [{ bytes: FRAME, kind: 'frame' }],
    ],
  ])('reads %s', (_name, content, expected) => {
    expect(inputsOf(content, 's')).toMatchObject(expected)
  })

  it.each([
    ['hello', 'JSON'],
    ['{"a":1}', 'transaction'],
    ['{', 'JSON'],
    ['0xabc', 'hex'],
    ['{"transactions":["0x12"]}', 'transactions'],
  ])('refuses %s', (content, named) => {
    const refused = () => inputsOf(text(content), 's')
    expect(refused).toThrow(errorWith('usage', named))
  })
})
