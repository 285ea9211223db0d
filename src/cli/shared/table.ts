import { shortPeer } from '../../lib/shortIds.ts'

/** The line is not to be longer than this: undefined where it does not matter, as in a file. */
export type LineWidth = number | undefined

/** Of the terminal; undefined when the output goes elsewhere. */
export function terminalWidth(): LineWidth {
  return process.stdout.isTTY === true ? process.stdout.columns : undefined
}

/** The last column is not squeezed below this. */
const MIN_LAST_COLUMN = 24
const GAP = '  '

/**
 * Columns padded to their widest cell; numbers are aligned to the right, with `-` for none. Texts of the last column that
 * do not fit the width go on in the line below.
 */
export function formatTable(
  header: readonly string[],
  given: readonly (readonly string[])[],
  width?: LineWidth,
): string {
  const rows = given.map((cells) => cells.map(plainText))
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  const numeric = header.map((_, column) => {
    const cells = rows.map((row) => row[column] ?? '')
    return cells.some((cell) => /\d/.test(cell)) && cells.every((cell) => /^(-|-?[\d.]+²?)?$/.test(cell))
  })
  const last = header.length - 1
  const indent = widths.slice(0, last).reduce((sum, columnWidth) => sum + columnWidth + GAP.length, 0)
  const room = width === undefined ? undefined : Math.max(MIN_LAST_COLUMN, width - indent)
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => {
        if (numeric[column] === true) return cell.padStart(widths[column] ?? 0)
        if (column === last) return wrapText(cell, room, indent)
        return cell.padEnd(widths[column] ?? 0)
      })
      .join(GAP)
      .trimEnd()
  return [line(header), ...rows.map(line)].join('\n')
}

/** Broken at spaces into lines of this many characters, of which all but the first are indented. */
export function wrapText(text: string, room: LineWidth, indent: number): string {
  if (room === undefined || text.length <= room) return text
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line === '') line = word
    else if (line.length + 1 + word.length <= room) line = `${line} ${word}`
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line].join(`\n${' '.repeat(indent)}`)
}

/** A remote text without control and format characters: it can neither break a line, move the cursor nor turn what follows around. */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}

/** Whole where there is room for it beside other columns. */
export function peerFor(peerId: string, width: LineWidth): string {
  return width === undefined || width >= 150 ? peerId : shortPeer(peerId)
}
