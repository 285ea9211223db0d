import { StreamCloseEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { DecodeError } from '../../lib/errors.ts'
import { FakeStream } from '../testUtils/fakeStream.ts'
import { readAll, readFirst, writeParts } from './streams.ts'

function setUp() {
  const stream = new FakeStream()
  return { stream, signal: new AbortController().signal }
}

describe('readAll', () => {
  it.each([[[]], [[1, 2, 3]]])('returns bytes that were put back after the end event: %j', async (bytes) => {
    const { stream, signal } = setUp()
    stream.end()
    if (bytes.length > 0) stream.buffer(Uint8Array.from(bytes))
    expect([...(await readAll(stream, 100, signal))]).toEqual(bytes)
  })

  it('stops at the limit', async () => {
    const { stream, signal } = setUp()
    const reading = readAll(stream, 3, signal)
    stream.receive(Uint8Array.of(1, 2))
    stream.receive(Uint8Array.of(3, 4))
    await expect(reading).rejects.toBeInstanceOf(DecodeError)
  })

  it('joins 300,000 chunks of one byte', async () => {
    const { stream, signal } = setUp()
    const count = 300_000
    const reading = readAll(stream, count, signal)
    const expected = new Uint8Array(count).map((_, index) => index)
    for (let n = 0; n < count; n++) stream.receive(Uint8Array.of(n))
    stream.end()
    expect(Buffer.compare(await reading, expected)).toBe(0)
  })

  it('rejects when the stream fails or the signal aborts', async () => {
    const { stream, signal } = setUp()
    const reading = readAll(stream, 100, signal)
    stream.fall(new StreamCloseEvent(false, new Error('reset')))
    await expect(reading).rejects.toThrow('reset')
    const controller = new AbortController()
    const waiting = readAll(setUp().stream, 100, controller.signal)
    controller.abort(new Error('too late'))
    await expect(waiting).rejects.toThrow('too late')
    await expect(readAll(setUp().stream, 100, controller.signal)).rejects.toThrow('too late')
  })
})

describe('readFirst', () => {
  it('resolves before the stream ends', async () => {
    const { stream, signal } = setUp()
    const reading = readFirst(stream, 2, signal)
    stream.receive(Uint8Array.of(1))
    stream.receive(Uint8Array.of(2, 3))
    expect([...(await reading)]).toEqual([1, 2])
  })
  it('resolves with fewer bytes when the stream ends early', async () => {
    const { stream, signal } = setUp()
    const reading = readFirst(stream, 2, signal)
    stream.receive(Uint8Array.of(1))
    stream.end()
    expect([...(await reading)]).toEqual([1])
  })
})

describe('writeParts', () => {
  const piecesOf = (made: number[]) =>
    (function* () {
      for (const byte of [1, 2, 3]) {
        made.push(byte)
        yield Uint8Array.of(byte)
      }
    })()

  it('writes one part per iteration of the event loop, and none while the buffer is full', async () => {
    const made: number[] = []
    const madeByTurn: number[] = []
    let isOver = false
    const count = (): void => {
      madeByTurn.push(made.length)
      if (!isOver) setImmediate(count)
    }
    const room = Promise.withResolvers<void>()
    const stream = new FakeStream()
    stream.hasRoom = () => stream.sent.length !== 2
    stream.onDrain = () => room.promise
    const sent = (): number[] => stream.sent.flatMap((bytes) => [...bytes])
    count()
    const writing = writeParts(stream, piecesOf(made), new AbortController().signal)
    while (stream.sent.length < 2) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(sent()).toEqual([1, 2])
    room.resolve()
    await writing
    isOver = true
    expect(sent()).toEqual([1, 2, 3])
    expect(stream.isClosed).toBe(true)
    expect(madeByTurn.every((total, turn) => total - (madeByTurn[turn - 1] ?? 0) <= 1)).toBe(true)
  })

  it('makes no further part after the signal aborts', async () => {
    const made: number[] = []
    const controller = new AbortController()
    const stream = new FakeStream()
    stream.hasRoom = () => {
      controller.abort(new Error('too late'))
      return true
    }
    await expect(writeParts(stream, piecesOf(made), controller.signal)).rejects.toThrow('too late')
    expect(made.length).toBeLessThan(3)
  })
})
