/** Columns padded to their widest cell; numbers (cells of digits) are aligned to the right. */
export function formatTable(header: readonly string[], given: readonly (readonly string[])[]): string {
  const rows = given.map((cells) => cells.map(plainText))
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => (row[column] ?? '').length)))
  const numeric = header.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^-?[\d.]+$/.test(row[column] ?? '')),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        numeric[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd()
  return [line(header), ...rows.map(line)].join('\n')
}

/** A remote text without control characters: it can neither break a line nor move the cursor. */
export function plainText(text: string): string {
  return text.replace(/\p{Cc}/gu, '?')
}

/** `0x1234…cdef`: enough of a hash to tell it from its neighbours. */
export function shortHash(hash: string): string {
  return hash.length > 14 ? `${hash.slice(0, 6)}…${hash.slice(-4)}` : hash
}
