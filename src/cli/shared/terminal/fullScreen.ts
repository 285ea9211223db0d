import { cutLine, type Line, paintLine } from './styledLine.ts'

/** The used part of a terminal's output stream. */
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

// ECMA-48 and xterm control sequences: the alternate screen without cursor and without line wrap, since characters of double
// width would wrap. Synchronized output (2026) lets the terminal show each redraw at once.
const ENTER = '\x1b[?1049h\x1b[?25l\x1b[?7l'
const LEAVE = '\x1b[?7h\x1b[?25h\x1b[?1049l'
const BEGIN_FRAME = '\x1b[?2026h\x1b[H'
const END_FRAME = '\x1b[?2026l'
// Written before the line. After a line as wide as the terminal, it would delete the line's last character.
const CLEAR_LINE = '\x1b[K'
const CLEAR_BELOW = '\r\n\x1b[J'

/** Draws on the terminal's alternate screen. Closing restores the earlier content. */
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
    // A terminal of unknown size reports 0.
    return { columns: this.terminal.columns || 80, rows: this.terminal.rows || 24 }
  }

  /** `onResize`: the size has changed, so the caller must draw again. */
  open(onResize: () => void): void {
    if (this.isOpen) return
    this.onResize = onResize
    this.terminal.on('resize', onResize)
    this.terminal.write(ENTER)
  }

  /** Draws the first lines that fit. Does nothing while the screen is closed. */
  draw(lines: readonly Line[]): void {
    if (!this.isOpen) return
    const { columns, rows } = this.size
    const painted = lines
      .slice(0, rows)
      .map((line) => CLEAR_LINE + paintLine(cutLine(line, columns), { isColoured: this.isColoured }))
    const below = painted.length < rows ? CLEAR_BELOW : ''
    this.terminal.write(`${BEGIN_FRAME}${painted.join('\r\n')}${below}${END_FRAME}`)
  }

  /** Restores the terminal. May be called more than once. */
  close(): void {
    if (this.onResize === undefined) return
    this.terminal.off('resize', this.onResize)
    this.onResize = undefined
    this.terminal.write(LEAVE)
  }
}

/** Whether to write colours: to a terminal, unless NO_COLOR is set to a text that is not empty (no-color.org). */
export function wantsColours(output: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): boolean {
  return output.isTTY === true && (env.NO_COLOR ?? '') === ''
}
