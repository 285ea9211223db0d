import { readSync, writeSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import { concatBytes, viewOf } from '../../lib/bytes.ts'
import { describeError } from '../../lib/errors.ts'

// Synchronous reads of an RPC process from the engine process. The RPC process writes a request into a pipe and blocks
// until the answer comes. Both have a length (u32 LE) and that many bytes. An answer begins with its kind.

const KIND = { absent: 0, found: 1, failed: 2 } as const
/** Requests contain only keys, so none is longer. */
const MAX_REQUEST_BYTES = 1024
/** Descriptor of the pipe in the RPC process, after standard input, output and error. */
const PIPE = 3
const NOTHING = new Uint8Array(0)

/** Reads synchronously. Undefined if the engine process does not have it. Throws if the engine process fails. */
export function readFromEngine(request: Uint8Array): Uint8Array | undefined {
  writeAll(concatBytes(lengthOf(request.length), request))
  const answer = readExactly(viewOf(readExactly(4)).getUint32(0, true))
  if (answer[0] === KIND.failed) throw new Error(Buffer.from(answer.subarray(1)).toString())
  return answer[0] === KIND.found ? answer.subarray(1) : undefined
}

/** The engine process's side. Errors of `answer` are thrown in the RPC process. */
export function answerReads(pipe: Duplex, answer: (request: Uint8Array) => Uint8Array | undefined): void {
  let unread: Uint8Array = NOTHING
  pipe.on('data', (chunk: Uint8Array) => {
    unread = unread.length === 0 ? chunk : concatBytes(unread, chunk)
    while (unread.length >= 4) {
      const length = viewOf(unread).getUint32(0, true)
      if (length > MAX_REQUEST_BYTES) return void pipe.destroy()
      if (unread.length < 4 + length) return
      const [kind, bytes] = outcomeOf(() => answer(unread.slice(4, 4 + length)))
      unread = unread.subarray(4 + length)
      const head = new Uint8Array(5)
      viewOf(head).setUint32(0, bytes.length + 1, true)
      head[4] = kind
      pipe.write(bytes.length === 0 ? head : concatBytes(head, bytes))
    }
  })
}

function outcomeOf(answer: () => Uint8Array | undefined): [kind: number, bytes: Uint8Array] {
  try {
    const bytes = answer()
    return bytes === undefined ? [KIND.absent, NOTHING] : [KIND.found, bytes]
  } catch (error) {
    return [KIND.failed, new Uint8Array(Buffer.from(describeError(error)))]
  }
}

function lengthOf(length: number): Uint8Array {
  const bytes = new Uint8Array(4)
  viewOf(bytes).setUint32(0, length, true)
  return bytes
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(PIPE, bytes, at)
}

function readExactly(length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let at = 0; at < length; ) {
    const count = readSync(PIPE, bytes, at, length - at, null)
    if (count === 0) throw new Error('the engine process has closed the pipe')
    at += count
  }
  return bytes
}
