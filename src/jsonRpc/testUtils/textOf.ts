import type { Pieces } from '../pieces.ts'

export function textOf(pieces: Pieces): string {
  return pieces.map((piece) => (typeof piece === 'string' ? piece : Buffer.from(piece).toString())).join('')
}
