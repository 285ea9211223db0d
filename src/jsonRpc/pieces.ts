import { concatBytes } from '../lib/bytes.ts'
import { takeTurn } from '../lib/turns.ts'

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

/** A method's result that is JSON, and is written while it is sent: one of hundreds of megabytes is never there as a whole. */
export class StreamedJson {
  readonly pieces: AsyncIterable<string>
  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces
  }
}

/**
 * Characters of a list that are written at once, in a millisecond or two. V8 moves smaller texts about while they are young.
 */
const PIECE_LENGTH = 262_144
const SHORT_LENGTH = 65_536

/** Puts short texts together, and keeps a long answer as bytes: as they are sent, and no burden to the heap. */
export class PieceWriter {
  private pieces: Uint8Array[] = []
  private texts: string[] = []
  /** Characters of the texts, and bytes of the pieces. */
  private length = 0
  private pieceBytes = 0

  add(piece: string | Uint8Array): void {
    if (typeof piece !== 'string') {
      this.flush()
      this.push(piece)
      return
    }
    this.texts.push(piece)
    this.length += piece.length
    if (this.length >= PIECE_LENGTH) this.flush()
  }

  /** What has been added so far, where it is much, to go ahead of the rest; undefined as long as it is little. */
  takeMuch(): Pieces | undefined {
    if (this.pieceBytes < PIECE_LENGTH) return undefined
    const taken = this.pieces
    this.pieces = []
    this.pieceBytes = 0
    return taken
  }

  /** One text where the answer is short. */
  end(): Pieces {
    if (this.pieces.length === 0) return [this.texts.join('')]
    this.flush()
    return this.pieces
  }

  private flush(): void {
    if (this.texts.length > 0) this.push(Buffer.from(this.texts.join('')))
    this.texts = []
    this.length = 0
  }

  private push(piece: Uint8Array): void {
    this.pieces.push(piece)
    this.pieceBytes += piece.length
  }
}

/** A short text stays one: it goes out along with its head, in one write to the system. */
export function between(before: string, pieces: Pieces, after: string): Pieces {
  const [first, second] = pieces
  const isShort = typeof first === 'string' && second === undefined && first.length <= SHORT_LENGTH
  return isShort ? [before + first + after] : [before, ...pieces, after]
}

/** As JSON. Between the pieces of a list others have their turns; throws the reason of the call's signal when it aborts meanwhile. */
export async function writeInPieces(value: unknown, call: { signal: AbortSignal }): Promise<Pieces> {
  if (value instanceof WrittenJson) return value.pieces
  if (!Array.isArray(value) || value.length === 0) return [serialize(value)]
  const writer = new PieceWriter()
  let separator = '['
  let length = 0
  for (const member of value) {
    const text = serialize(member ?? null)
    writer.add(separator)
    writer.add(text)
    separator = ','
    length += text.length
    if (length < PIECE_LENGTH) continue
    length = 0
    await takeTurn('answer')
    call.signal.throwIfAborted()
  }
  writer.add(']')
  return writer.end()
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

/** As UTF-8, put together. */
export function bytesOf(pieces: Pieces): Uint8Array {
  return concatBytes(...pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}

/** As UTF-8. */
export function sizeOf(pieces: Pieces): number {
  return pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length), 0)
}
