import { DecodeError } from '../../../lib/errors.ts'

/** A broken rule, and the place of the broken byte. */
export interface Fault {
  /** Offset into the bytes that `in` names; null if the rule concerns all of them. */
  byte: number | null
  /** Bytes that `byte` counts: `input`, `blob data`, `channel`, `decompressed channel`, `batch`. */
  in: string
  rule: string
  /** The reaction of derivation. */
  effect: string
}

/** Converts a codec's DecodeError. The caller gives the effect on derivation. Other errors are thrown again. */
export function faultOf(error: unknown, place: Pick<Fault, 'in' | 'effect'>): Fault {
  if (!(error instanceof DecodeError)) throw error
  return { byte: error.at ?? null, in: place.in, rule: error.message, effect: place.effect }
}
