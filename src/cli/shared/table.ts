import { shortPeer } from '../../lib/shortIds.ts'

/** Maximal length of a line in columns. Undefined where it does not matter, as in a file. */
export type LineWidth = number | undefined

/** Undefined when the output is not a terminal. */
export function terminalWidth(): LineWidth {
  return process.stdout.isTTY === true ? process.stdout.columns : undefined
}

/** Minimal width of the last column. */
const MIN_LAST_COLUMN = 24
const GAP = '  '

/**
 * Pads columns to their widest cell and aligns numbers to the right. An undefined number is `-`. Texts of the last column
 * that exceed the width continue in the next line.
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

/** Breaks a text at spaces into lines of at most `room` characters. All lines except the first are indented. */
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

/**
 * Removes control and format characters from a remote text. It cannot break a line, move the cursor or reverse the text
 * direction.
 */
export function plainText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '?')
}

/** The whole id if the line has room for it beside other columns, else a short id. */
export function peerFor(peerId: string, width: LineWidth): string {
  return width === undefined || width >= 150 ? peerId : shortPeer(peerId)
}
