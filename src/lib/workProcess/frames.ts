import { deserialize, serialize } from 'node:v8'
import { viewOf } from '../bytes.ts'

// How the two processes talk: frames of two lengths (u32 LE each), a value as V8 writes it, and bytes that go with it as
// they are: of a large message no copy is made to send it.

const HEAD_BYTES = 8

/** The frame in the pieces that it is to be written in; `bytes` is one of them, and is not to change until it is. */
export function frameOf(value: unknown, bytes: Uint8Array): Uint8Array[] {
  const written = serialize(value)
  const head = new Uint8Array(HEAD_BYTES + written.length)
  const view = viewOf(head)
  view.setUint32(0, written.length, true)
  view.setUint32(4, bytes.length, true)
  head.set(written, HEAD_BYTES)
  return bytes.length === 0 ? [head] : [head, bytes]
}

/**
 * Takes what is read, in whatever pieces, and calls back with each frame; its bytes have a buffer of their own.
 */
export function createFrameReader(onFrame: (value: unknown, bytes: Uint8Array) => void): (chunk: Uint8Array) => void {
  const head = new Uint8Array(HEAD_BYTES)
  const lengths = viewOf(head)
  /** What is being read, how much of it is there, and what follows it. */
  let target: Uint8Array = head
  let filled = 0
  let complete = readLengths

  function expect(next: Uint8Array, whenComplete: () => void): void {
    target = next
    filled = 0
    complete = whenComplete
    if (next.length === 0) whenComplete()
  }
  function readLengths(): void {
    const written = new Uint8Array(lengths.getUint32(0, true))
    const bytes = new Uint8Array(lengths.getUint32(4, true))
    expect(written, () =>
      expect(bytes, () => {
        expect(head, readLengths)
        onFrame(deserialize(written), bytes)
      }),
    )
  }

  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      const part = chunk.subarray(at, at + target.length - filled)
      target.set(part, filled)
      filled += part.length
      at += part.length
      if (filled === target.length) complete()
    }
  }
}
