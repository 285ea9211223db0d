import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../../../lib/bytes.ts'
import { DecodeError } from '../../../lib/errors.ts'
import { fromHex, toHex } from '../../../lib/hex.ts'
import { expectDecodeErrorOrDone } from '../../../lib/testUtils/decodeError.ts'
import { decodeFrames, encodeFrame, encodeFrames, type Frame } from './frame.ts'

const REFERENCE: Frame = {
  channelId: '0x0102030405060708090a0b0c0d0e0f10',
  number: 2,
  data: new TextEncoder().encode('hello'),
  isLast: true,
}
const REFERENCE_BYTES = fromHex('0x0102030405060708090a0b0c0d0e0f1000020000000568656c6c6f01')
const VERSION = Uint8Array.of(0)

describe('frames', () => {
  it('have the reference encoding', () => {
    expect(toHex(encodeFrame(REFERENCE))).toBe(toHex(REFERENCE_BYTES))
    expect(decodeFrames(concatBytes(VERSION, REFERENCE_BYTES, REFERENCE_BYTES))).toEqual([REFERENCE, REFERENCE])
  })

  it.each([
    ['another version', concatBytes(Uint8Array.of(1), REFERENCE_BYTES)],
    ['nothing', new Uint8Array(0)],
    ['no frame', VERSION],
    ['a truncated frame', concatBytes(VERSION, REFERENCE_BYTES.subarray(0, -1))],
    ['bytes after the frames', concatBytes(VERSION, REFERENCE_BYTES, Uint8Array.of(1))],
    ['a last flag of 2', concatBytes(VERSION, REFERENCE_BYTES.subarray(0, -1), Uint8Array.of(2))],
    [
      'a length above a million',
      concatBytes(VERSION, REFERENCE_BYTES.subarray(0, 18), fromHex('0x000f4241'), new Uint8Array(1_000_002)),
    ],
  ])('are all refused on %s', (_, bytes) => {
    expect(() => decodeFrames(bytes)).toThrow(DecodeError)
  })

  it('contain at most a million bytes', () => {
    const longest = { ...REFERENCE, data: new Uint8Array(1_000_000) }
    expect(decodeFrames(encodeFrames([longest]))[0]?.data.length).toBe(1_000_000)
    expect(() => encodeFrame({ ...REFERENCE, data: new Uint8Array(1_000_001) })).toThrow(RangeError)
  })

  it('have a 16-bit number', () => {
    for (const number of [0, 65_535])
      expect(decodeFrames(encodeFrames([{ ...REFERENCE, number }]))[0]?.number).toBe(number)
    for (const number of [-1, 1.5, 65_536]) expect(() => encodeFrame({ ...REFERENCE, number })).toThrow(RangeError)
  })

  it('survive encoding and decoding; changed bytes give other frames or DecodeError', () => {
    const frame = fc.record({
      channelId: fc.uint8Array({ minLength: 16, maxLength: 16 }).map(toHex),
      number: fc.nat(0xffff),
      data: fc.uint8Array({ maxLength: 50 }),
      isLast: fc.boolean(),
    })
    fc.assert(
      fc.property(fc.array(frame, { minLength: 1, maxLength: 4 }), fc.nat(), fc.nat(255), (frames, at, byte) => {
        const bytes = encodeFrames(frames)
        expect(decodeFrames(bytes)).toEqual(frames)
        bytes[at % bytes.length] = byte
        expectDecodeErrorOrDone(() => expect(toHex(encodeFrames(decodeFrames(bytes)))).toBe(toHex(bytes)))
      }),
    )
  })
})
