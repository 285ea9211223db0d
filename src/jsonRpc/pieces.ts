import { concatBytes } from '../lib/bytes.ts'
import { takeTurn } from '../lib/turns.ts'

/**
 * The parts of one text, which may have tens of megabytes. Processing it as one string would hold the event loop. Bytes
 * are UTF-8.
 */
export type Pieces = readonly (string | Uint8Array)[]

/** A method's result that is already JSON text. */
export class WrittenJson {
  readonly pieces: Pieces
  constructor(pieces: Pieces) {
    this.pieces = pieces
  }
}

/**
 * A method's result that is generated while it is sent, because a result of hundreds of megabytes should never be in
 * memory as a whole.
 */
export class StreamedJson {
  readonly pieces: AsyncIterable<string>
  constructor(pieces: AsyncIterable<string>) {
    this.pieces = pieces
  }
}

/**
 * Length of a list's text that is serialized at once; takes a millisecond or two. V8 copies shorter strings while they
 * are young.
 */
const PIECE_LENGTH = 262_144
const SHORT_LENGTH = 65_536

/** Joins short texts. Keeps a long answer as bytes, the form in which it is sent, outside V8's heap. */
export class PieceWriter {
  private pieces: Uint8Array[] = []
  private texts: string[] = []
  /** Characters of the texts, and bytes of the chunks. */
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

  /** Removes and returns the chunks so far if they are long enough to be sent; undefined otherwise. */
  takeMuch(): Pieces | undefined {
    if (this.pieceBytes < PIECE_LENGTH) return undefined
    const taken = this.pieces
    this.pieces = []
    this.pieceBytes = 0
    return taken
  }

  /** Returns a short answer as a single string. */
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

/** Keeps a short text as one string, so that it is sent with the response head in one write. */
export function between(before: string, pieces: Pieces, after: string): Pieces {
  const [first, second] = pieces
  const isShort = typeof first === 'string' && second === undefined && first.length <= SHORT_LENGTH
  return isShort ? [before + first + after] : [before, ...pieces, after]
}

/**
 * Serializes to JSON and yields to the event loop between the parts of a list. Throws the signal's reason when the call
 * aborts.
 */
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

/** Writes bigints as JSON integers, for quantities beyond 2^53 that a specification defines as integers. */
export function serialize(value: unknown): string {
  try {
    // Without a replacer function this takes a fifth of the time.
    return JSON.stringify(value)
  } catch {
    return JSON.stringify(value, (_key, part) => (typeof part === 'bigint' ? JSON.rawJSON(part.toString()) : part))
  }
}

/** Joins the parts as UTF-8. */
export function bytesOf(pieces: Pieces): Uint8Array {
  return concatBytes(...pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}

/** Length in UTF-8. */
export function sizeOf(pieces: Pieces): number {
  return pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length), 0)
}
