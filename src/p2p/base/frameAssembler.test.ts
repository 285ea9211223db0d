import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { propertyRuns } from '../../lib/testUtils/propertyRuns.ts'
import { frameRpc } from '../hostile/rpcCodec.ts'
import { throwsOnly } from '../testUtils/throwsOnly.ts'
import { createFrameAssembler, FrameError } from './frameAssembler.ts'

const LIMITS = { maxFrameBytes: 1_000_000, maxBacklogBytes: 2_000_000 }

function all(assembler: ReturnType<typeof createFrameAssembler>): string[] {
  const frames: string[] = []
  for (let frame = assembler.next(); frame !== undefined; frame = assembler.next()) {
    frames.push(Buffer.from(frame).toString('hex'))
  }
  return frames
}

describe('createFrameAssembler', () => {
  it('returns every frame unchanged, wherever the stream is split', () => {
    const content = fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.uint8Array({ minLength: 100, maxLength: 3_000 }))
    const cuts = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(fc.array(content, { maxLength: 12 }), cuts, (contents, sizes) => {
        const assembler = createFrameAssembler(LIMITS)
        const stream = Buffer.concat(contents.map(frameRpc))
        const found: string[] = []
        for (let at = 0, n = 0; at < stream.length; n++) {
          const size = sizes[n % sizes.length] ?? 1
          assembler.push(new Uint8Array(stream.subarray(at, at + size)))
          // Some chunks arrive together.
          if (n % 3 !== 0) found.push(...all(assembler))
          at += size
        }
        found.push(...all(assembler))
        const expected = contents.filter(({ length }) => length > 0).map((bytes) => Buffer.from(bytes).toString('hex'))
        expect(found).toEqual(expected)
        expect(assembler.isPartial()).toBe(false)
      }),
      { numRuns: propertyRuns(300) },
    )
  })

  it('throws only FrameErrors on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }), (pieces) => {
        const assembler = createFrameAssembler({ maxFrameBytes: 100, maxBacklogBytes: 150 })
        throwsOnly([FrameError], () => {
          for (const piece of pieces) {
            assembler.push(piece)
            all(assembler)
          }
        })
      }),
      { numRuns: propertyRuns(1_000) },
    )
  })

  it('returned frames keep their bytes when more data arrives', () => {
    const assembler = createFrameAssembler(LIMITS)
    const [a, b] = [new Uint8Array(50_000).fill(1), new Uint8Array(50_000).fill(2)]
    const stream = Buffer.concat([frameRpc(a), frameRpc(b)])
    const frames: Uint8Array[] = []
    for (let at = 0; at < stream.length; at += 999) {
      assembler.push(new Uint8Array(stream.subarray(at, at + 999)))
      for (let frame = assembler.next(); frame !== undefined; frame = assembler.next()) frames.push(frame)
    }
    expect(frames.map((frame) => Buffer.compare(frame, frame[0] === 1 ? a : b))).toEqual([0, 0])
  })

  it('refuses a frame above the size limit as soon as its length is read', () => {
    const assembler = createFrameAssembler({ maxFrameBytes: 1_000, maxBacklogBytes: 2_000 })
    assembler.push(Uint8Array.of(0xe9, 0x07))
    expect(() => assembler.next()).toThrow(FrameError)
    const endless = createFrameAssembler(LIMITS)
    endless.push(new Uint8Array(6).fill(0xff))
    expect(() => endless.next()).toThrow(errorWith('oversized-rpc'))
  })

  it('limits unread frames', () => {
    const assembler = createFrameAssembler({ maxFrameBytes: 1_000, maxBacklogBytes: 2_000 })
    assembler.push(new Uint8Array(1_999).fill(1))
    expect(() => assembler.push(Uint8Array.of(1, 1))).toThrow(errorWith('backlog', 2_000))
  })

  it('assembles a frame from single bytes in at most twice its size', () => {
    const assembler = createFrameAssembler({ maxFrameBytes: 1 << 20, maxBacklogBytes: 1 << 21 })
    const length = 1 << 19
    assembler.push(Uint8Array.of(0x80, 0x80, 0x20))
    // If the chunks were kept, all of them would hold the last byte.
    const piece = new Uint8Array(1)
    for (let n = 0; n < length; n++) {
      piece[0] = n
      assembler.push(piece)
    }
    const frame = assembler.next()
    expect(frame?.length).toBe(length)
    expect(frame?.every((byte, n) => byte === (n & 0xff))).toBe(true)
    expect(frame?.buffer.byteLength).toBeLessThanOrEqual(2 * (3 + length))
  })
})
