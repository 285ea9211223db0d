import { StreamCloseEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../lib/clock.ts'
import { loopTurns, nextTurn } from '../../lib/nextTurn.ts'
import { errorWith } from '../../lib/testUtils/errorWith.ts'
import { frameRpc } from '../hostile/rpcCodec.ts'
import { FakeStream } from '../testUtils/fakeStream.ts'
import { readFrames } from './inboundFrames.ts'

function setUp(options: { turnMs?: number } = {}) {
  const stream = new FakeStream()
  const clock = new ManualClock()
  const frames: number[] = []
  const faults: string[] = []
  const ends: (Error | undefined)[] = []
  let nowMs = 0
  readFrames(
    {
      stream,
      onFrame(frame) {
        frames.push(frame.length)
        nowMs += options.turnMs ?? 0
      },
      onFault: ({ code }) => faults.push(code),
      onEnd: (error) => ends.push(error),
      setTimeout: clock.setTimeout.bind(clock),
      now: () => nowMs,
    },
    { maxFrameBytes: 1_000, maxBacklogBytes: 5_000, frameTimeoutMs: 60_000 },
  )
  return { stream, clock, frames, faults, ends }
}

const frame = (length: number) => frameRpc(new Uint8Array(length).fill(1))

describe('readFrames', () => {
  it('delivers each frame as it arrives, then the end, and yields to other work', async () => {
    const { stream, frames, ends } = setUp({ turnMs: 1 })
    stream.receive(Buffer.concat(Array.from({ length: 50 }, () => frame(3))))
    expect(frames).toHaveLength(16)
    stream.end()
    await nextTurn()
    expect(frames).toHaveLength(32)
    expect(ends).toEqual([])
    await loopTurns(3)
    expect(frames).toEqual(new Array(50).fill(3))
    expect(ends).toEqual([undefined])
    expect(stream.isClosed).toBe(true)
  })

  it('resets the stream at a frame above the size limit', () => {
    const { stream, frames, faults, ends } = setUp()
    stream.receive(Buffer.concat([frame(10), frame(1_001)]))
    expect(frames).toEqual([10])
    expect(faults).toEqual(['oversized-rpc'])
    expect(stream.aborted).toEqual(errorWith('oversized-rpc', 1_001))
    expect(ends).toHaveLength(1)
    stream.receive(frame(5))
    expect(frames).toEqual([10])
  })

  it('resets the stream when its backlog exceeds the limit', () => {
    const { stream, faults } = setUp({ turnMs: 1 })
    for (let n = 0; n < 8; n++) stream.receive(Buffer.concat(Array.from({ length: 300 }, () => frame(2))))
    expect(faults).toEqual(['backlog'])
    expect(stream.aborted).toBeDefined()
  })

  it('resets only the stream whose frame takes too long', async () => {
    const { stream, clock, faults } = setUp()
    for (let n = 0; n < 4; n++) {
      // Always inside a frame, but never long in the same frame.
      stream.receive(frame(10).subarray(n === 0 ? 0 : 5))
      stream.receive(frame(10).subarray(0, 5))
      await clock.advance(40_000)
    }
    expect(faults).toEqual([])
    stream.receive(frame(10).subarray(5))
    await clock.advance(100_000)
    expect(faults).toEqual([])
    for (let n = 0; n < 9; n++) {
      stream.receive(frame(10).subarray(n, n + 1))
      await clock.advance(10_000)
    }
    expect(faults).toEqual(['slow-frame'])
    expect(stream.aborted).toBeDefined()
  })

  it('reports an aborted stream', () => {
    const { stream, ends } = setUp()
    const error = new Error('reset')
    stream.fall(new StreamCloseEvent(false, error))
    expect(ends).toEqual([error])
  })
})
