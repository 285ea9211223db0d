import { expect, it } from 'vitest'
import { FullScreen, wantsColours } from './fullScreen.ts'
import { cutLine, type Line, paintLine, textOf } from './styledLine.ts'

const LINE: Line = ['plain ', { text: 'bad', style: 'bad' }, ' ', { text: 'bold', style: 'bold' }]

it('cuts styled lines to a width', () => {
  expect(cutLine(LINE, 14)).toBe(LINE)
  expect(textOf(cutLine(LINE, 13))).toBe('plain bad bo…')
  expect(textOf(cutLine(LINE, 8))).toBe('plain b…')
  expect(textOf(cutLine(LINE, 1))).toBe('…')
  expect(textOf(cutLine(LINE, 0))).toBe('')
})

it('writes colours only if enabled', () => {
  expect(paintLine(LINE, { isColoured: true })).toBe('plain \x1b[31mbad\x1b[0m \x1b[1mbold\x1b[0m')
  expect(paintLine(LINE, { isColoured: false })).toBe('plain bad \x1b[1mbold\x1b[0m')
  expect(wantsColours({ isTTY: true }, {})).toBe(true)
  expect(wantsColours({ isTTY: true }, { NO_COLOR: '' })).toBe(true)
  expect(wantsColours({ isTTY: true }, { NO_COLOR: '1' })).toBe(false)
  expect(wantsColours({}, {})).toBe(false)
})

it('draws on the alternate screen within its rows, and leaves it once', () => {
  let written = ''
  const listeners = new Set<() => void>()
  const terminal = {
    columns: 10,
    rows: 2,
    write: (text: string) => (written += text),
    on: (_: 'resize', listener: () => void) => listeners.add(listener),
    off: (_: 'resize', listener: () => void) => listeners.delete(listener),
  }
  const screen = new FullScreen(terminal, { isColoured: false })
  screen.draw(['too early'])
  expect(written).toBe('')
  screen.open(() => {})
  expect(written).toBe('\x1b[?1049h\x1b[?25l\x1b[?7l')
  written = ''
  screen.draw(['0123456789', 'b', 'c'])
  // No clear sequence follows a line that fills its row: it would delete the line's last character.
  expect(written).toBe('\x1b[?2026h\x1b[H\x1b[K0123456789\r\n\x1b[Kb\x1b[?2026l')
  written = ''
  screen.draw(['a'])
  expect(written).toBe('\x1b[?2026h\x1b[H\x1b[Ka\r\n\x1b[J\x1b[?2026l')
  written = ''
  screen.close()
  screen.close()
  expect(written).toBe('\x1b[?7h\x1b[?25h\x1b[?1049l')
  expect(listeners.size).toBe(0)
})
