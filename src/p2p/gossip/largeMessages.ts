import { webcrypto } from 'node:crypto'
import { createKeccak256, type Keccak256Hasher } from '../../lib/hash.ts'

/**
 * Unpacked bytes above which a message is worked on in steps: op-stack blocks are mostly below, and up to here each
 * step takes less than a millisecond.
 */
export const LARGE_BYTES = 128 * 1024
/** A megabyte of keccak takes 3 ms. */
const SLICE_BYTES = 1024 * 1024

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

let hasher: Promise<Keccak256Hasher> | undefined
let busy: Promise<unknown> = Promise.resolve()

/** keccak256 of large input, yielding to the event loop between slices; one at a time. */
export function keccak256InSlices(data: Uint8Array): Promise<Uint8Array> {
  const result = busy.then(async () => {
    hasher ??= createKeccak256()
    const keccak = await hasher
    keccak.init()
    for (let start = 0; start < data.length; start += SLICE_BYTES) {
      keccak.update(data.subarray(start, start + SLICE_BYTES))
      await nextTurn()
    }
    return keccak.digest()
  })
  busy = result.catch(() => {})
  return result
}

/** SHA-256 of the parts in a row, computed off the main thread. */
export async function sha256OffThread(parts: readonly Uint8Array[]): Promise<Uint8Array> {
  let length = 0
  for (const part of parts) length += part.length
  const joined = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    joined.set(part, offset)
    offset += part.length
  }
  return new Uint8Array(await webcrypto.subtle.digest('SHA-256', joined))
}
