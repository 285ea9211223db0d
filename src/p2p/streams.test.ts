import { StreamCloseEvent, StreamMessageEvent } from '@libp2p/interface'
import { describe, expect, it } from 'vitest'
import { concatBytes } from '../lib/bytes.ts'
import { DecodeError } from '../lib/errors.ts'
import { type Readable, readAll, readFirst, writePieces } from './streams.ts'

/** A stream as libp2p's: buffered bytes come when somebody listens, the end is announced once. */
class FakeStream extends EventTarget implements Pick<Readable, 'readableEnded' | 'readBufferLength'> {
  readableEnded = false
  private buffered: Uint8Array[] = []

  get readBufferLength(): number {
    return this.buffered.reduce((sum, bytes) => sum + bytes.length, 0)
  }
  override addEventListener(...args: Parameters<EventTarget['addEventListener']>): void {
    super.addEventListener(...args)
    if (args[0] === 'message') queueMicrotask(() => this.flush())
  }
  buffer(...bytes: number[]): void {
    this.buffered.push(Uint8Array.from(bytes))
  }
  receive(...bytes: number[]): void {
    this.buffer(...bytes)
    this.flush()
  }
  end(): void {
    this.readableEnded = true
    this.dispatchEvent(new Event('end'))
  }
  private flush(): void {
    for (let next = this.buffered.shift(); next !== undefined; next = this.buffered.shift()) {
      this.dispatchEvent(new StreamMessageEvent(next))
    }
  }
}

function setUp() {
  const stream = new FakeStream()
  return { stream, readable: stream as unknown as Readable, signal: new AbortController().signal }
}

describe('readAll', () => {
  it('gives all that came until the end', async () => {
    const { stream, readable, signal } = setUp()
    const reading = readAll(readable, 100, signal)
    stream.receive(1, 2)
    stream.receive(3)
    stream.end()
    expect([...(await reading)]).toEqual([1, 2, 3])
  })

  it('gives what was put back after the end was announced', async () => {
    const { stream, readable, signal } = setUp()
    stream.end()
    stream.buffer(1, 2, 3)
    expect([...(await readAll(readable, 100, signal))]).toEqual([1, 2, 3])
  })

  it('gives nothing of an empty stream that has ended before', async () => {
    const { stream, readable, signal } = setUp()
    stream.end()
    expect(await readAll(readable, 100, signal)).toHaveLength(0)
  })

  it('stops at the limit', async () => {
    const { stream, readable, signal } = setUp()
    const reading = readAll(readable, 3, signal)
    stream.receive(1, 2)
    stream.receive(3, 4)
    await expect(reading).rejects.toBeInstanceOf(DecodeError)
  })

  it('puts pieces of a byte together, however many there are', async () => {
    const { stream, readable, signal } = setUp()
    const count = 300_000
    const reading = readAll(readable, count, signal)
    const expected = new Uint8Array(count).map((_, index) => index)
    for (let n = 0; n < count; n++) stream.receive(n)
    stream.end()
    expect(Buffer.compare(await reading, expected)).toBe(0)
  })

  it('keeps the order of small and large pieces', async () => {
    const { stream, readable, signal } = setUp()
    const reading = readAll(readable, 1e6, signal)
    const pieces = [1, 5_000, 3, 70_000, 4_095, 70_000, 2].map((length, n) => new Uint8Array(length).fill(n))
    for (const piece of pieces) stream.dispatchEvent(new StreamMessageEvent(piece))
    stream.end()
    expect(Buffer.compare(await reading, concatBytes(...pieces))).toBe(0)
  })

  it('fails with the stream, and with the signal', async () => {
    const { stream, readable, signal } = setUp()
    const reading = readAll(readable, 100, signal)
    stream.dispatchEvent(new StreamCloseEvent(false, new Error('reset')))
    await expect(reading).rejects.toThrow('reset')
    const controller = new AbortController()
    const waiting = readAll(setUp().readable, 100, controller.signal)
    controller.abort(new Error('too late'))
    await expect(waiting).rejects.toThrow('too late')
    await expect(readAll(setUp().readable, 100, controller.signal)).rejects.toThrow('too late')
  })
})

describe('readFirst', () => {
  it('does not wait for the end', async () => {
    const { stream, readable, signal } = setUp()
    const reading = readFirst(readable, 2, signal)
    stream.receive(1)
    stream.receive(2, 3)
    expect([...(await reading)]).toEqual([1, 2])
  })
  it('gives less when the stream ends before', async () => {
    const { stream, readable, signal } = setUp()
    const reading = readFirst(readable, 2, signal)
    stream.receive(1)
    stream.end()
    expect([...(await reading)]).toEqual([1])
  })
})

describe('writePieces', () => {
  const piecesOf = (made: number[]) =>
    (function* () {
      for (const byte of [1, 2, 3]) {
        made.push(byte)
        yield Uint8Array.of(byte)
      }
    })()

  it('makes one piece in a turn of the event loop, and none before there is room', async () => {
    const made: number[] = []
    const madeByTurn: number[] = []
    let isOver = false
    const count = (): void => {
      madeByTurn.push(made.length)
      if (!isOver) setImmediate(count)
    }
    const room = Promise.withResolvers<void>()
    const sent: number[] = []
    let isClosed = false
    const stream = {
      send(data: Uint8Array | { subarray(): Uint8Array }): boolean {
        sent.push(...data.subarray())
        return sent.length !== 2
      },
      onDrain: () => room.promise,
      async close() {
        isClosed = true
      },
    }
    count()
    const writing = writePieces(stream, piecesOf(made), new AbortController().signal)
    while (sent.length < 2) await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(sent).toEqual([1, 2])
    room.resolve()
    await writing
    isOver = true
    expect(sent).toEqual([1, 2, 3])
    expect(isClosed).toBe(true)
    expect(madeByTurn.every((total, turn) => total - (madeByTurn[turn - 1] ?? 0) <= 1)).toBe(true)
  })

  it('makes no more when the signal comes', async () => {
    const made: number[] = []
    const controller = new AbortController()
    const stream = {
      send(): boolean {
        controller.abort(new Error('too late'))
        return true
      },
      onDrain: async () => {},
      close: async () => {},
    }
    await expect(writePieces(stream, piecesOf(made), controller.signal)).rejects.toThrow('too late')
    expect(made.length).toBeLessThan(3)
  })
})
