import { cutLine, type Line, paintLine } from './styledLine.ts'

/** The part of a terminal's output stream that is used. */
export interface Terminal {
  write(text: string): unknown
  columns?: number
  rows?: number
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

export interface ScreenSize {
  columns: number
  rows: number
}

// ECMA-48 and xterm control sequences: the alternate screen without a cursor, on which long lines do not go on in the next one
// (characters of double width would make them so). Synchronized output (2026) lets the terminal show each redraw at once.
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const BEGIN_FRAME = '\x1b[?2026h\x1b[H'
const END_FRAME = '\x1b[?2026l'
// Before what is written there: behind a line that is as wide as the terminal they would take its last character.
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\r\n\x1b[J'

/** The terminal's alternate screen, redrawn in place: what was in the terminal before is still there afterwards. */
export class FullScreen {
  private readonly terminal: Terminal
  private readonly isColoured: boolean
  private onResize: (() => void) | undefined

  constructor(terminal: Terminal, { isColoured }: { isColoured: boolean }) {
    this.terminal = terminal
    this.isColoured = isColoured
  }

  get isOpen(): boolean {
    return this.onResize !== undefined
  }

  get size(): ScreenSize {
    // One that does not know its size says 0.
    return { columns: this.terminal.columns || 80, rows: this.terminal.rows || 24 }
  }

  /** `onResize`: the size is another one, and what was drawn no longer fits it. */
  open(onResize: () => void): void {
    if (this.isOpen) return
    this.onResize = onResize
    this.terminal.on('resize', onResize)
    this.terminal.write(ENTER)
  }

  /** The lines from the top on, as far as they fit; nothing while it is not open. */
  draw(lines: readonly Line[]): void {
    if (!this.isOpen) return
    const { columns, rows } = this.size
    const painted = lines
      .slice(0, rows)
      .map((line) => CLEAR_LINE + paintLine(cutLine(line, columns), { isColoured: this.isColoured }))
    const below = painted.length < rows ? CLEAR_BELOW : ''
    this.terminal.write(`${BEGIN_FRAME}${painted.join('\r\n')}${below}${END_FRAME}`)
  }

  /** Gives the terminal back as it was; may be called more than once. */
  close(): void {
    if (this.onResize === undefined) return
    this.terminal.off('resize', this.onResize)
    this.onResize = undefined
    this.terminal.write(LEAVE)
  }
}

/** Whether to write colours there: to a terminal, unless NO_COLOR is set (no-color.org: to anything but an empty text). */
export function wantsColours(output: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return output.isTTY === true && (env.NO_COLOR ?? '') === ''
}
