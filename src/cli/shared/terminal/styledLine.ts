/** The style of a part of a line. `good`, `notable`, `bad` and `grey` are colours, which NO_COLOR turns off. */
export type Style = 'bold' | 'dim' | 'inverse' | 'good' | 'notable' | 'bad' | 'grey'

/** A part of a line, without control characters: remote texts must have passed `plainText`. */
export type Span = string | { readonly text: string; readonly style: Style }

export type Line = string | readonly Span[]

// ECMA-48, "select graphic rendition".
const CODES: Readonly<Record<Style, number>> = { bold: 1, dim: 2, inverse: 7, good: 32, notable: 33, bad: 31, grey: 90 }
const COLOURS: ReadonlySet<Style> = new Set(['good', 'notable', 'bad', 'grey'])

function spansOf(line: Line): readonly Span[] {
  return typeof line === 'string' ? [line] : line
}

/** The text without styles. */
export function textOf(line: Line): string {
  return spansOf(line)
    .map((span) => (typeof span === 'string' ? span : span.text))
    .join('')
}

/** Cuts a line that is too long and ends it with `…`. */
export function cutLine(line: Line, columns: number): Line {
  if (textOf(line).length <= columns) return line
  const kept: Span[] = []
  let room = Math.max(0, columns - 1)
  for (const span of spansOf(line)) {
    const text = (typeof span === 'string' ? span : span.text).slice(0, room)
    room -= text.length
    kept.push(typeof span === 'string' ? text : { ...span, text })
    if (room === 0) break
  }
  return columns < 1 ? '' : [...kept, '…']
}

/** The text with control sequences, for a terminal. */
export function paintLine(line: Line, { isColoured }: { isColoured: boolean }): string {
  return spansOf(line)
    .map((span) => {
      if (typeof span === 'string') return span
      if (COLOURS.has(span.style) && !isColoured) return span.text
      return `\x1b[${CODES[span.style]}m${span.text}\x1b[0m`
    })
    .join('')
}
