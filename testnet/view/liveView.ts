import type { Endpoints, TestnetEvent } from '../runner/events.ts'
import type { TestnetStatus } from '../runner/status.ts'
import { plainLines } from './plainView.ts'
import { renderScreen } from './screen.ts'
import type { Output, View } from './view.ts'

export interface Terminal extends Output {
  columns?: number
  rows?: number
  on(event: 'resize', listener: () => void): unknown
  off(event: 'resize', listener: () => void): unknown
}

// ECMA-48 and xterm control sequences. Synchronized output (2026) lets the terminal show each redraw at once.
const ENTER = '\x1b[?1049h\x1b[?25l'
const LEAVE = '\x1b[?25h\x1b[?1049l'
const BEGIN_FRAME = '\x1b[?2026h\x1b[H'
const END_FRAME = '\x1b[J\x1b[?2026l'
const CLEAR_TO_LINE_END = '\x1b[K'
const BOLD = '\x1b[1m'
const PLAIN = '\x1b[0m'

/**
 * Lines while things start and stop, and in between a table on the terminal's alternate screen, redrawn in place: what
 * was in the terminal before is still there afterwards.
 */
export function createLiveView(terminal: Terminal, now: () => number): View {
  let endpoints: Endpoints | undefined
  let status: TestnetStatus = { nodes: [] }
  let readyAt = 0
  let open = false

  const draw = () => {
    if (!open || endpoints === undefined) return
    const size = { columns: terminal.columns ?? 80, rows: terminal.rows ?? 24 }
    const nowSeconds = Math.floor(now() / 1000)
    const uptimeSeconds = Math.floor((now() - readyAt) / 1000)
    const lines = renderScreen({ endpoints, status, uptimeSeconds, nowSeconds }, size)
    const [title = '', ...rest] = lines
    const text = [`${BOLD}${title}${PLAIN}`, ...rest].map((line) => line + CLEAR_TO_LINE_END).join('\r\n')
    terminal.write(`${BEGIN_FRAME}${text}${END_FRAME}`)
  }

  const close = () => {
    if (!open) return
    open = false
    terminal.off('resize', draw)
    terminal.write(LEAVE)
  }

  const print = (event: TestnetEvent) => {
    for (const line of plainLines(event)) terminal.write(`${line}\n`)
  }

  return {
    statusIntervalMs: 500,
    handle(event) {
      if (event.event === 'status') {
        status = event
        draw()
        return
      }
      // The title shows it.
      if (event.event === 'fork' && open) return
      if (event.event === 'stopping') close()
      print(event)
      if (event.event !== 'ready') return
      endpoints = event
      readyAt = now()
      open = true
      terminal.on('resize', draw)
      terminal.write(ENTER)
      draw()
    },
    close,
  }
}
