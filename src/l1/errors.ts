import { DeviumError } from '../lib/errors.ts'

/**
 * All codes are temporary, but a caller may treat them differently.
 *
 * - `l1-not-found`: the endpoint does not know the block.
 * - `l1-bad-answer`: the answer contradicts itself or the request (a hash or a root does not match).
 * - `l1-unknown-fork`: the block has header fields that this version does not know.
 */
export class L1Error extends DeviumError<'l1-not-found' | 'l1-bad-answer' | 'l1-unknown-fork'> {
  override readonly name = 'L1Error'
}

export function badAnswer(message: string, cause?: unknown): L1Error {
  return new L1Error('l1-bad-answer', message, cause === undefined ? {} : { cause })
}
