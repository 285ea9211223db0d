import { deserialize, serialize } from 'node:v8'
import { viewOf } from '../bytes.ts'

// The frame format between two processes: two lengths (u32 LE each), a V8-serialized value, and raw bytes. Raw bytes
// are sent without a copy.

const HEAD_BYTES = 8

/** The frame as a list of chunks to write. `bytes` is one of the chunks, so it must not change until it is written. */
export function frameOf(value: unknown, bytes: Uint8Array): Uint8Array[] {
  const written = serialize(value)
  const head = new Uint8Array(HEAD_BYTES + written.length)
  const view = viewOf(head)
  view.setUint32(0, written.length, true)
  view.setUint32(4, bytes.length, true)
  head.set(written, HEAD_BYTES)
  return bytes.length === 0 ? [head] : [head, bytes]
}

/** Accepts chunks of any size and calls back with each complete frame. The frame's bytes have their own buffer. */
export function createFrameReader(onFrame: (value: unknown, bytes: Uint8Array) => void): (chunk: Uint8Array) => void {
  const head = new Uint8Array(HEAD_BYTES)
  const lengths = viewOf(head)
  /** The buffer that is being filled, the number of filled bytes, and the next step. */
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
