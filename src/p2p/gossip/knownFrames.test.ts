import { describe, expect, it } from 'vitest'
import { createKnownFrames } from './knownFrames.ts'

const TOPIC = '/optimism/901/2/blocks'
const bytes = (length: number, fill: number): Uint8Array => new Uint8Array(length).fill(fill)

describe('createKnownFrames', () => {
  it('knows the frame of a valid message again by its bytes', () => {
    const known = createKnownFrames()
    const data = bytes(90, 1)
    known.note(bytes(100, 1), data)
    expect(known.find(bytes(100, 1))).toBeUndefined()
    known.add(data, { topic: TOPIC, id: 'a' })
    expect(known.find(bytes(100, 1))).toMatchObject({ topic: TOPIC, id: 'a' })
    expect(known.find(bytes(100, 2))).toBeUndefined()
    expect(known.find(bytes(99, 1))).toBeUndefined()
  })

  it('knows the last few only', () => {
    const known = createKnownFrames()
    for (let n = 0; n < 6; n++) {
      const data = bytes(90, n)
      known.note(bytes(100, n), data)
      known.add(data, { topic: TOPIC, id: String(n) })
    }
    const found = Array.from({ length: 6 }, (_, n) => known.find(bytes(100, n))?.id)
    expect(found).toEqual([undefined, undefined, '2', '3', '4', '5'])
  })

  it('leaves large messages, and those that share their frame, to others', () => {
    const known = createKnownFrames()
    const large = bytes(10 * 1024 * 1024, 0)
    known.note(large, large)
    known.add(large, { topic: TOPIC, id: 'large' })
    known.add(bytes(90, 1), { topic: TOPIC, id: 'never noted' })
    expect(known.find(large)).toBeUndefined()
    expect(known.find(bytes(90, 1))).toBeUndefined()
  })
})
