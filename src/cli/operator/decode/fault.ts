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

/** Thrown by the readers of this folder: bytes that break a rule at a place. */
export class MalformedError extends DecodeError {
  readonly byte: number

  constructor(byte: number, rule: string) {
    super(rule, { details: { byte } })
    this.byte = byte
  }
}

/** Who reads ahead of `read` says what the broken rule means for derivation. */
export function faultOf(error: unknown, place: Pick<Fault, 'in' | 'effect'>, baseByte = 0): Fault {
  if (!(error instanceof DecodeError)) throw error
  const byte = error instanceof MalformedError ? error.byte + baseByte : null
  return { byte, in: place.in, rule: error.message, effect: place.effect }
}
