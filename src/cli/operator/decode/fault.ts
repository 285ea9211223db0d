import { DecodeError } from '../../../lib/errors.ts'

/** What is wrong with some bytes, and where. */
export interface Fault {
  /** Offset into the bytes that `in` names; null where the rule concerns them as a whole. */
  byte: number | null
  /** Which bytes `byte` counts: `input`, `blob data`, `channel`, `decompressed channel`, `batch`. */
  in: string
  /** The rule that is broken. */
  rule: string
  /** What derivation does about it. */
  effect: string
}

/** The fault that a codec found; the caller says what it means for derivation. Other errors are thrown on. */
export function faultOf(error: unknown, place: Pick<Fault, 'in' | 'effect'>): Fault {
  if (!(error instanceof DecodeError)) throw error
  return { byte: error.at ?? null, in: place.in, rule: error.message, effect: place.effect }
}
