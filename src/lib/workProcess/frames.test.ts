import fc from 'fast-check'
import { expect, it } from 'vitest'
import { concatBytes } from '../bytes.ts'
import { createFrameReader, frameOf } from './frames.ts'

it('frames are read as written, for any split into chunks', () => {
  const frames = fc.array(fc.record({ value: fc.anything(), bytes: fc.uint8Array({ maxLength: 3_000 }) }), {
    maxLength: 8,
  })
  fc.assert(
    fc.property(frames, fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 }), (written, lengths) => {
      const stream = concatBytes(...written.flatMap(({ value, bytes }) => frameOf(value, bytes)))
      const seen: { value: unknown; bytes: Uint8Array }[] = []
      const read = createFrameReader((value, bytes) => seen.push({ value, bytes }))
      for (let at = 0, piece = 0; at < stream.length; piece++) {
        const end = at + (lengths[piece % lengths.length] ?? 1)
        read(stream.subarray(at, end))
        at = end
      }
      expect(seen).toEqual(written)
    }),
  )
})
