import { wantsColours } from './fullScreen.ts'
import { type Line, paintLine, textOf } from './styledLine.ts'

/** Prints to standard output, with control sequences only for a terminal. */
export function printLines(lines: readonly Line[]): void {
  const { stdout } = process
  const isColoured = wantsColours(stdout)
  console.log(lines.map((line) => (stdout.isTTY === true ? paintLine(line, { isColoured }) : textOf(line))).join('\n'))
}
