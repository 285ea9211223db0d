import { takeTurn } from '../turns.ts'
import type { RpcContext } from './callContext.ts'

/**
 * One text, which may have tens of megabytes: as a whole it would hold up the event loop wherever it is touched. Bytes are
 * UTF-8.
 */
export type Pieces = readonly (string | Uint8Array)[]

/** A method's result that is JSON already. */
export class WrittenJson {
  readonly pieces: Pieces
  constructor(pieces: Pieces) {
    this.pieces = pieces
  }
}

/**
 * Characters of a list that are written at once, in a millisecond or two. V8 moves smaller texts about while they are young.
 */
const PIECE_LENGTH = 262_144
/** So many are sent as one text. */
const FEW = 16

/** As JSON. Between the pieces of a list others have their turns; throws the reason of the call's signal when it aborts meanwhile. */
export async function writeInPieces(value: unknown, call: Pick<RpcContext, 'signal'>): Promise<Pieces> {
  if (value instanceof WrittenJson) return value.pieces
  if (!Array.isArray(value) || value.length === 0) return [serialize(value)]
  const pieces: string[] = []
  let members: string[] = []
  let length = 0
  for (const member of value) {
    const text = serialize(member ?? null)
    members.push(text)
    length += text.length
    if (length < PIECE_LENGTH) continue
    pieces.push(members.join(), ',')
    members = []
    length = 0
    await takeTurn('answer')
    call.signal.throwIfAborted()
  }
  if (members.length === 0) pieces.pop()
  return ['[', ...pieces, members.join(), ']']
}

/** Chain quantities beyond 2^53 that a document defines as JSON integers leave as exact integers. */
export function serialize(value: unknown): string {
  try {
    // Without a function to ask for each member it takes a fifth of the time.
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? JSON.rawJSON(part.toString()) : part))
  }
}

/** As UTF-8. */
export function sizeOf(pieces: Pieces): number {
  return pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length), 0)
}

/** For sending. */
export async function joinPieces(pieces: Pieces): Promise<string | Uint8Array<ArrayBuffer>> {
  if (pieces.length <= FEW && pieces.every((piece) => typeof piece === 'string')) return pieces.join('')
  const bytes = Buffer.allocUnsafeSlow(sizeOf(pieces))
  let end = 0
  for (const piece of pieces) {
    if (typeof piece === 'string') end += bytes.write(piece, end)
    else {
      bytes.set(piece, end)
      end += piece.length
    }
    await takeTurn('answer')
  }
  return bytes
}
